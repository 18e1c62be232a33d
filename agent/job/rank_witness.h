#pragma once
// RankWitness: evidence about a rank that ended: why it failed, or that rank 0 never connected to
// the others. Owned by the session; one io_context thread. Knows nothing of pipes and the guard.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guard/guard_protocol.h"
#include "agent/job/failure_evidence.h"
#include "agent/job/meeting_watch.h"
#include "wire/messages.h"

namespace dtl {

class RankWitness {
 public:
  // Before a rank starts; returns variables to add to its environment.
  std::vector<std::string> take_on(const std::string& job_id, std::uint32_t rank,
                                   const std::vector<std::string_view>& environment);
  void started(std::uint32_t rank, pid_t process);
  void note_old_connections();  // soon after the start of rank 0 (MeetingWatch)
  void look();                  // once a second
  // The message for the launcher, if any, about the end of a rank given to take_on(). Send it
  // before Exited (wire/PROTOCOL.md).
  std::optional<Message> ended(const GuardReport& report);
  void tell_grace(std::chrono::milliseconds grace) const;  // see FailureEvidence
  std::string stack_path(std::uint32_t rank) const;        // of a rank given to take_on()

 private:
  std::optional<FailureEvidence> evidence_;  // from the first rank on
  std::optional<MeetingWatch> meeting_;      // of rank 0
};

}  // namespace dtl
