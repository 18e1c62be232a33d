// An attempt has one deadline from connect to proof. A peer that accepts and then says nothing,
// such as another program on that port, must not hold the rank for longer.
#include "ring/meeting/connector.h"

#include <fmt/format.h>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

constexpr auto kRetryDelay = std::chrono::milliseconds(50);  // ranks start within tens of ms

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

void Connector::give_up_attempt(int dt_status, const std::string& reason) {
  last_reason_ = fmt::format("{}: {}", address().text(), reason);
  last_status_ = dt_status;
  handshake_.reset();
  connecting_.reset();
  // The next address, if there are several: a name may have one that nobody listens on.
  ++attempt_;
  next_attempt_ = Clock::now() + kRetryDelay;
}

void Connector::start() {
  attempt_deadline_ = Clock::now() + kHandshakeDeadline;
  try {
    connecting_ = start_connect(address());
  } catch (const CommError& error) {
    give_up_attempt(error.dt_status(), error.reason());
  }
}

Channel Connector::step() {
  if (!connecting_.valid() && !handshake_ && Clock::now() >= next_attempt_) start();
  if (connecting_.valid() && is_ready(connecting_.get(), POLLOUT)) {
    if (const int error = pending_error(connecting_.get()); error != 0) {
      give_up_attempt(DT_E_SYS, errno_text(error));
      return {};
    }
    // Before the first byte: the handshake is a dialogue of short messages.
    send_without_delay(connecting_.get());
    handshake_.emplace(identity_, to_, stream_, lane_, std::move(connecting_));
  }
  if (handshake_) {
    const Progress progress = handshake_->step();
    if (progress == Progress::kDone) {
      Channel channel = handshake_->take();
      handshake_.reset();
      return channel;
    }
    if (progress == Progress::kFailed) {
      if (handshake_->is_final()) {
        throw CommError(handshake_->dt_status(),
                        fmt::format("cannot join rank {} at {}", to_, address().text()),
                        handshake_->reason());
      }
      give_up_attempt(handshake_->dt_status(), handshake_->reason());
      return {};
    }
  }
  if ((connecting_.valid() || handshake_) && Clock::now() >= attempt_deadline_) {
    give_up_attempt(DT_E_TIMEOUT, "no answer within 5 s");
  }
  return {};
}

}  // namespace dtl::ring
