#include "ring/meeting/acceptor.h"

#include <algorithm>

#include "ring/common/socket.h"

namespace dtl::ring {

void Acceptor::add_to_poll(std::vector<pollfd>& set) const {
  if (!listener_.valid()) return;
  set.push_back({listener_.get(), POLLIN, 0});
  for (const Pending& pending : pending_) set.push_back({pending.handshake.fd(), POLLIN, 0});
}

// Not at the cost of one that has heard the reply: its proof may be on its way.
bool Acceptor::make_room() {
  if (pending_.size() < kMaxPendingCallers) return true;
  const auto is_mute = [](const Pending& pending) { return !pending.handshake.has_replied(); };
  const auto oldest = std::find_if(pending_.begin(), pending_.end(), is_mute);
  if (oldest == pending_.end() || Clock::now() - oldest->since < kPatienceWhenFull) return false;
  pending_.erase(oldest);
  return true;
}

void Acceptor::accept_all() {
  while (make_room()) {
    Fd fd = accept_from(listener_.get());
    if (!fd.valid()) return;
    send_without_delay(fd.get());
    pending_.push_back({ServerHandshake(identity_, std::move(fd)), Clock::now()});
  }
}

void Acceptor::advance(std::vector<Caller>& proved) {
  const auto now = Clock::now();
  for (auto it = pending_.begin(); it != pending_.end();) {
    const Progress progress = it->handshake.step();
    if (progress == Progress::kDone) {
      proved.push_back({it->handshake.take(), it->handshake.hello()});
    }
    const bool is_over = progress != Progress::kAgain || now - it->since >= kHandshakeDeadline;
    it = is_over ? pending_.erase(it) : std::next(it);
  }
}

std::vector<Caller> Acceptor::step() {
  std::vector<Caller> proved;
  if (!listener_.valid()) return proved;
  advance(proved);
  accept_all();
  advance(proved);
  return proved;
}

void Acceptor::close() {
  pending_.clear();
  listener_.reset();
}

}  // namespace dtl::ring
