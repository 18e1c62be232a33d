#pragma once
// JobWatch: writes down what dtlaunch ps, logs and kill need to know of a job while it runs: the
// launcher's record, and for a detached job its output. Other processes read these files at any
// time, so each is replaced as a whole or appended to. Belongs to the session's thread.

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
  // With kept_folder (of a detached job) the output and the record are also kept there, after the
  // job's end. Throws Error(kCannotWrite) then. Without it, a job runs even where no record can be
  // written.
  JobWatch(JobRecord record, const std::optional<std::string>& kept_folder);

  // What the session is to call. on_started and on_said hear of it, too; both may be empty. The
  // hooks refer to this object, which has to outlive the session.
  SessionHooks hooks(std::function<void()> on_started,
                     std::function<void(std::string_view)> on_said);
  // All ranks are about to be started again on these hosts, `restarts` times by now.
  void restarting(int restarts, const std::vector<Host>& hosts, const Epoch& ended);
  // All ranks run again; lost: the time since the failure.
  void running_again(JobTime lost);
  // The record of the running job goes away; the kept one stays, with the status.
  void ended(int exit_status);

 private:
  // Both copies.
  void write();
  // Does nothing for a job that is not detached.
  void keep(LogEntry::Kind kind, int rank, std::string_view bytes);

  JobRecord record_;
  OwnRecord file_;
  std::string kept_record_;  // path; empty: not kept
  std::optional<KeptLog> log_;
};

}  // namespace dtl
