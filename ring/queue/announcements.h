#pragma once
// Announcements: messages that arrived without a receiver, for dt_probe: the oldest one of each
// rank. The driving thread writes them, callers read. Does not hold the messages' bytes: those wait
// in the link, so that a sender without a receiver does not fill memory here.

#include <map>
#include <mutex>
#include <optional>

#include "ring/links/operation_header.h"
#include "ring/queue/first_error.h"
#include "ring/queue/waiters.h"

namespace dtl::ring {

class Announcements {
 public:
  // error: ends the wait for messages. After setting it, call end_waiting().
  explicit Announcements(const FirstError& error) : error_(error) {}

  // DT_OK and the sender, DT_PENDING or the error. The message stays announced until a receiver is
  // called for it. timeout_ms < 0: no limit.
  int probe(int from, int timeout_ms, int* source, OperationHeader* header);
  bool is_settled(int from) const;  // there is one, or there will never be one
  bool has_waiters() const { return waiters_.any(); }

  // --- the driving thread ---
  void set(int from, const std::optional<OperationHeader>& header);  // none: it has a receiver
  void end_waiting();

 private:
  using OldestOfRank = std::map<int, OperationHeader>;
  OldestOfRank::const_iterator find(int from) const;

  const FirstError& error_;
  mutable std::mutex mutex_;
  Waiters waiters_;
  OldestOfRank oldest_;
};

}  // namespace dtl::ring
