#pragma once
// Announcements: messages that have come although no receiver was called for them, for dt_probe:
// the oldest one of each rank. Whoever drives the engine writes them, callers look. Does not hold
// the messages' bytes: those wait in the link, so that a sender nobody listens to fills no memory
// here.

#include <map>
#include <mutex>
#include <optional>

#include "ring/links/operation_header.h"
#include "ring/queue/first_error.h"
#include "ring/queue/waiters.h"

namespace dtl::ring {

class Announcements {
 public:
  // error: ends the wait for messages. Whoever sets it has to call end_waiting() next.
  explicit Announcements(const FirstError& error) : error_(error) {}

  // DT_OK and whose it is, DT_PENDING or the error. The message stays announced until a receiver is
  // called for it. timeout_ms < 0: without end.
  int probe(int from, int timeout_ms, int* source, OperationHeader* header);
  bool is_settled(int from) const;  // there is one, or there never will be
  bool has_waiters() const { return waiters_.any(); }

  // --- who runs the engine ---
  void set(int from, const std::optional<OperationHeader>& header);  // none: it has a receiver now
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
