#pragma once
// FailureEvidence: what the node knows about why a rank failed: whether the kernel killed for want
// of memory since the ranks started, and the traceback that torch's @record wrote. Also the owner
// of the files that ranks write for their agent. One per job and agent. Best effort: without a
// folder, or with a full disk, ranks run and fail as before, and less is known.

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

  // What a rank's environment gets in addition: DTLAUNCH_STACK_FILE, DTLAUNCH_GRACE_FILE, and
  // TORCHELASTIC_ERROR_FILE unless the user has set it.
  std::vector<std::string> file_variables(std::uint32_t rank,
                                          const std::vector<std::string_view>& environment);
  std::string stack_path(std::uint32_t rank) const;  // see stack_file.h
  // The ranks are about to be signalled and have that much time. DTLAUNCH_GRACE_FILE then holds it,
  // in seconds with three decimals.
  void tell_grace(std::chrono::milliseconds grace) const;
  // killed: by SIGKILL. peak_kib: the largest resident memory of its process.
  // oom_kills is 0 and error_file is empty where nothing is known.
  Evidence about(std::uint32_t rank, bool killed, std::uint64_t peak_kib) const;

 private:
  std::string error_path(std::uint32_t rank) const;
  std::string grace_path() const;

  std::string folder_;  // private to this user; empty: it could not be made
  std::vector<std::uint32_t> ranks_;
  OomKills before_;
};

// Whether the kernel of a node that is out of memory would choose this process: it takes the
// largest one. Without a limit of the job's own, a kill that the node counts may have hit any
// process.
bool is_large_on_node(std::uint64_t peak_kib, std::uint64_t node_kib);

// The beginning of a small file, at most `most` bytes; empty when it cannot be read. For files of
// /proc and for those that a rank may have made: follows no link and waits for no FIFO.
std::string read_up_to(const std::string& path, std::size_t most);

}  // namespace dtl
