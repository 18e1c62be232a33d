#pragma once
// FailureEvidence: the node's evidence of why a rank failed: kernel kills for lack of memory since
// the ranks started, and the traceback that torch's @record wrote. Also owns the files that ranks
// write for their agent. One per job and agent. Best effort: without a folder, or with a full disk,
// ranks run and fail as before, with less evidence.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/cgroup.h"
#include "wire/messages.h"

namespace dtl {

class FailureEvidence {
 public:
  explicit FailureEvidence(std::string job_id);
  ~FailureEvidence();  // removes these files and their folder
  FailureEvidence(const FailureEvidence&) = delete;
  FailureEvidence& operator=(const FailureEvidence&) = delete;

  // Variables to add to a rank's environment: DTLAUNCH_STACK_FILE, DTLAUNCH_GRACE_FILE, and
  // TORCHELASTIC_ERROR_FILE unless the user has set it.
  std::vector<std::string> file_variables(std::uint32_t rank,
                                          const std::vector<std::string_view>& environment);
  std::string stack_path(std::uint32_t rank) const;  // see stack_file.h
  // Writes the time that ranks have after the coming signal to DTLAUNCH_GRACE_FILE, in seconds with
  // three decimals.
  void tell_grace(std::chrono::milliseconds grace) const;
  // killed: by SIGKILL. peak_kib: the largest resident memory of the rank's process. Unknown values
  // stay empty: oom_kills 0, error_file "".
  Evidence about(std::uint32_t rank, bool killed, std::uint64_t peak_kib) const;

 private:
  std::string error_path(std::uint32_t rank) const;
  std::string grace_path() const;

  std::string folder_;  // private to this user; empty: it could not be created
  std::vector<std::uint32_t> ranks_;
  OomKills before_;
};

// Whether the kernel may have chosen this process when the node was out of memory: it kills the
// largest. If the job has no limit of its own, a kill counted on the node may have hit any process.
bool is_large_on_node(std::uint64_t peak_kib, std::uint64_t node_kib);

// The first `most` bytes of a file; empty if it cannot be read. For files of /proc and files that a
// rank may have created: does not follow links or wait for a FIFO.
std::string read_up_to(const std::string& path, std::size_t most);

}  // namespace dtl
