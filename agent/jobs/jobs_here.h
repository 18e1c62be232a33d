#pragma once
// What dtlaunch's subcommands ask a node about jobs: dtagent --jobs, --log and --end. The answer is
// text on standard output, after a line that tells it from what the login shell printed.

#include <string>
#include <vector>

#include "base/error.h"
#include "base/machine/job_record.h"

namespace dtl {

// Every record of this user's jobs on this node, each followed by "alive yes" or "alive no" and an
// empty line.
Exit list_jobs();

// The kept output of a detached job that was launched here. follow: goes on until the job is over
// or standard input ends. from_end: only what comes from now on; after: only what comes after that
// place. The first line is "at PLACE", where what is sent begins, or "gap PLACE" when that is not
// where `after` ended. Throws Error: kUsage when `after` is not a place, kBadInput when there is no
// log.
struct LogWish {
  bool follow = false, from_end = false;
  std::string after = {};
};
Exit send_log(const std::string& job_id, LogWish wish);

// Sends a signal to the job's launcher if it runs here, else SIGTERM to the job's agents here, and
// waits until they are gone. Prints a line for each: role, pid, signal, "ended" or "sent".
Exit end_job(const std::string& job_id, int signal);

// The line that answers begin with.
void begin_answer();

}  // namespace dtl
