#pragma once
// FailureEvidence: what the node knows about why a rank failed: whether the kernel killed for want
// of memory since the ranks started, and the traceback that torch's @record wrote. One per job and
// agent.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/node/cgroup.h"
#include "wire/messages.h"

namespace dtl {

class FailureEvidence {
 public:
  explicit FailureEvidence(std::string job_id);
  ~FailureEvidence();  // removes the error files and their folder
  FailureEvidence(const FailureEvidence&) = delete;
  FailureEvidence& operator=(const FailureEvidence&) = delete;

  // Adds TORCHELASTIC_ERROR_FILE to a rank's environment, unless the user has set it.
  void add_error_file(RankSpec& rank);
  Evidence about(std::uint32_t rank, bool killed) const;

 private:
  std::string error_path(std::uint32_t rank) const;

  std::string folder_;  // private to this user; empty: it could not be made
  std::vector<std::uint32_t> ranks_;
  OomKills before_;
};

// Stopped by a signal or a debugger.
bool is_stopped(std::uint32_t pid);

}  // namespace dtl
