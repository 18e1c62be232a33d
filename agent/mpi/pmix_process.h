#pragma once
// PmixProcess: dtpmix as a child of the agent, and the private folder for its files. It is not
// below dtguard, which kills everything there: ranks need dtpmix until they have ended. Owned by
// PmixLink. If the agent is killed, dtpmix ends with its connection, and `dtagent --clean` removes
// the folder (agent/jobs/clean_leftovers.cc).

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/machine/process_handle.h"

namespace dtl {

struct PmixHome {
  std::string own_folder;  // dtagent's, where dtpmix is
  std::string libraries;   // the folder of libpmix.so.2; empty: the loader finds it
  std::string job_id;
  bool optional = false;  // ranks may do without it
};

class PmixProcess {
 public:
  // Throws Error if it cannot be started.
  explicit PmixProcess(const PmixHome& home);
  ~PmixProcess();  // kills it unless it has ended, and removes its folder
  PmixProcess(const PmixProcess&) = delete;
  PmixProcess& operator=(const PmixProcess&) = delete;

  // Each once; not blocking. Its end of file on the link means that dtpmix is gone.
  Fd take_link() { return std::move(link_); }
  Fd take_output() { return std::move(output_); }  // what it prints, mostly errors
  // How it ended, "exited with status 1"; empty: it still runs after this time.
  std::string await_end(std::chrono::milliseconds patience);
  void kill() const { handle_.signal(SIGKILL); }
  pid_t pid() const { return pid_; }

 private:
  void start(const PmixHome& home);

  std::string folder_;
  Fd link_, output_;
  pid_t pid_ = 0;  // 0: reaped
  ProcessHandle handle_;
  std::string ending_;
};

}  // namespace dtl
