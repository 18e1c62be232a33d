#pragma once
// JobWatch: writes what dtlaunch ps, logs and kill need to know about a running job: the launcher's
// record, and for a detached job its output. Other processes read these files at any time, so each
// is replaced as a whole or appended to. Belongs to the session's thread.

#include <functional>
#include <optional>
#include <string>

#include "base/machine/job_record.h"
#include "launcher/report/kept_log.h"
#include "launcher/session/epochs.h"
#include "launcher/session/session.h"
#include "plan/request/host.h"

namespace dtl {

class JobWatch {
 public:
  // With kept_folder (of a detached job) also keeps output and record there after the job's end;
  // then throws Error(kCannotWrite). Without it, a job runs even if no record can be written.
  JobWatch(JobRecord record, const std::optional<std::string>& kept_folder);

  // For the caller of hooks(); each may be empty.
  struct Listeners {
    std::function<void()> waits;    // the job begins to wait in line for cores
    std::function<void()> started;  // every rank runs
    std::function<void(std::string_view)> said;
  };
  // Hooks for the session, which also call the listeners. They refer to this object, which must
  // outlive the session.
  SessionHooks hooks(Listeners listeners);
  // All ranks will start again on these hosts, for the `restarts`-th time.
  void restarting(int restarts, const std::vector<Host>& hosts, const Epoch& ended);
  // All ranks run again; lost: the time since the failure.
  void running_again(JobTime lost);
  // Removes the record of the running job; the kept one stays, with the status.
  void ended(int exit_status);

 private:
  // Writes both copies.
  void write();
  // Does nothing unless the job is detached.
  void keep(LogEntry::Kind kind, int rank, std::string_view bytes);

  JobRecord record_;
  OwnRecord file_;
  std::string kept_record_;  // path; empty: not kept
  std::optional<KeptLog> log_;
};

}  // namespace dtl
