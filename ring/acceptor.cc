#include "ring/acceptor.h"

#include "ring/socket.h"

namespace dtl::ring {

void Acceptor::add_to_poll(std::vector<pollfd>& set) const {
  if (!listener_.valid()) return;
  set.push_back({listener_.get(), POLLIN, 0});
  for (const Pending& pending : pending_) set.push_back({pending.handshake.fd(), POLLIN, 0});
}

void Acceptor::accept_all() {
  for (Fd fd = accept_from(listener_.get()); fd.valid(); fd = accept_from(listener_.get())) {
    send_without_delay(fd.get());
    if (pending_.size() >= kMaxPendingCallers) pending_.pop_front();
    pending_.push_back(
        {ServerHandshake(identity_, std::move(fd)), Clock::now() + kHandshakeDeadline});
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
    const bool is_over = progress != Progress::kAgain || now >= it->deadline;
    it = is_over ? pending_.erase(it) : std::next(it);
  }
  return proved;
}

void Acceptor::close() {
  pending_.clear();
  listener_.reset();
}

}  // namespace dtl::ring
