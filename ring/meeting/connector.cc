// An attempt has one deadline from connect to proof. A peer that accepts and then says nothing,
// such as another program on that port, must not hold the rank for longer. From the proof on there
// is none: the peer has shown that it belongs to the job, and may have taken this rank already. A
// second attempt beside that one would be a second rank of this number.
#include "ring/meeting/connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "ring/common/comm_error.h"
#include "ring/common/crypto.h"

namespace dtl::ring {
namespace {

constexpr auto kRetryDelay = std::chrono::milliseconds(50);  // ranks start within tens of ms
// Doubled so often where the peer turns callers away: up to 800 ms.
constexpr int kMostDoublings = 4;

// Between half of it and all of it, so that ranks that were turned away together come back apart.
std::chrono::milliseconds delay_after(int turned_away) {
  const auto longest = kRetryDelay * (1 << std::clamp(turned_away - 1, 0, kMostDoublings));
  std::array<std::uint8_t, 1> chance{};
  fill_random(chance);
  return longest / 2 + longest * chance[0] / (2 * 256);
}

bool is_ready(int fd, short events) {
  pollfd entry{fd, events, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

Connector::Connector(const Identity& identity, std::int32_t to, Stream stream,
                     std::vector<Address> addresses, std::uint16_t lane)
    : identity_(identity),
      to_(to),
      stream_(stream),
      lane_(lane),
      addresses_(std::move(addresses)) {}

void Connector::add_to_poll(std::vector<pollfd>& set) const {
  if (handshake_) {
    set.push_back({handshake_->fd(), POLLIN, 0});
  } else if (connecting_.valid()) {
    set.push_back({connecting_.get(), POLLOUT, 0});
  }
}

void Connector::note(int dt_status, const std::string& reason) {
  last_reason_ = fmt::format("{}: {}", address().text(), reason);
  last_status_ = dt_status;
}

void Connector::give_up_attempt(int dt_status, const std::string& reason) {
  note(dt_status, reason);
  turned_away_ = handshake_ ? turned_away_ + 1 : 0;
  handshake_.reset();
  connecting_.reset();
  // The next address, if there are several: a name may have one that nobody listens on.
  ++attempt_;
  next_attempt_ = Clock::now() + (turned_away_ > 0 ? delay_after(turned_away_) : kRetryDelay);
}

void Connector::start() {
  is_refused_ = false;
  attempt_deadline_ = Clock::now() + kHandshakeDeadline;
  try {
    connecting_ = start_connect(address());
  } catch (const CommError& error) {
    // To the own host this fails at once.
    is_refused_ = error.reason() == errno_text(ECONNREFUSED);
    give_up_attempt(error.dt_status(), error.reason());
  }
}

Channel Connector::step() {
  if (!connecting_.valid() && !handshake_ && Clock::now() >= next_attempt_) start();
  if (connecting_.valid() && is_ready(connecting_.get(), POLLOUT)) begin_handshake();
  if (handshake_) {
    if (Channel channel = advance_handshake(); channel.valid()) return channel;
  }
  if ((connecting_.valid() || handshake_) && Clock::now() >= attempt_deadline_) {
    if (handshake_ && handshake_->has_proved()) {
      note(DT_E_TIMEOUT, "it has not confirmed the connection");
      attempt_deadline_ = Clock::now() + kHandshakeDeadline;
    } else {
      give_up_attempt(DT_E_TIMEOUT, "no answer within 5 s");
    }
  }
  return {};
}

void Connector::begin_handshake() {
  if (const int error = pending_error(connecting_.get()); error != 0) {
    is_refused_ = error == ECONNREFUSED;
    return give_up_attempt(DT_E_SYS, errno_text(error));
  }
  // Before the first byte: the handshake is a dialogue of short messages.
  send_without_delay(connecting_.get());
  handshake_.emplace(identity_, to_, stream_, lane_, std::move(connecting_));
}

// The connection once the peer has confirmed it.
Channel Connector::advance_handshake() {
  switch (handshake_->step()) {
    case Progress::kAgain:
      return {};
    case Progress::kDone: {
      Channel channel = handshake_->take();
      handshake_.reset();
      return channel;
    }
    case Progress::kFailed:
      break;
  }
  if (handshake_->is_final()) {
    throw CommError(handshake_->dt_status(),
                    fmt::format("cannot join rank {} at {}", to_, address().text()),
                    handshake_->reason());
  }
  // By value: the handshake ends with the attempt.
  give_up_attempt(handshake_->dt_status(), std::string(handshake_->reason()));
  return {};
}

}  // namespace dtl::ring
