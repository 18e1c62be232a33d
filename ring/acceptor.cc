#include "ring/acceptor.h"

#include "ring/socket.h"

namespace dtl::ring {

void Acceptor::add_to_poll(std::vector<pollfd>& set) const {
  if (!listener_.valid()) return;
  set.push_back({listener_.get(), POLLIN, 0});
  for (const Pending& pending : pending_) set.push_back({pending.handshake.fd(), POLLIN, 0});
}

bool Acceptor::make_room() {
  if (pending_.size() < kMaxPendingCallers) return true;
  if (Clock::now() - pending_.front().since < kPatienceWhenFull) return false;
  pending_.pop_front();
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

std::vector<Caller> Acceptor::step() {
  std::vector<Caller> proved;
  if (!listener_.valid()) return proved;
  accept_all();
  const auto now = Clock::now();
  for (auto it = pending_.begin(); it != pending_.end();) {
    const Progress progress = it->handshake.step();
    if (progress == Progress::kDone) {
      proved.push_back({it->handshake.take(), it->handshake.hello()});
    }
    const bool is_over = progress != Progress::kAgain || now - it->since >= kHandshakeDeadline;
    it = is_over ? pending_.erase(it) : std::next(it);
  }
  return proved;
}

void Acceptor::close() {
  pending_.clear();
  listener_.reset();
}

}  // namespace dtl::ring
