#pragma once
// dtagent --jobs, --log and --end: answers dtlaunch's questions about jobs on this node. The answer
// is text on standard output, after a marker line that separates it from the login shell's output.

#include <string>
#include <vector>

#include "base/error.h"
#include "base/machine/job_record.h"

namespace dtl {

// Prints every record of this user's jobs on this node, each followed by "alive yes" or "alive no"
// and an empty line.
Exit list_jobs();

// Prints the kept output of a detached job launched here. follow: continues until the job is over
// or standard input ends. from_end: only new output; after: only output after that place. The first
// line is "at PLACE", where the output begins, or "gap PLACE" if that is not where `after` ended.
// Throws Error: kUsage if `after` is not a place, kBadInput if there is no log.
struct LogWish {
  bool follow = false, from_end = false;
  std::string after = {};
};
Exit send_log(const std::string& job_id, LogWish wish);

// Sends a signal to the job's launcher if it runs here, else SIGTERM to the job's agents here, and
// waits until they are gone. Prints a line for each: role, pid, signal, "ended" or "sent".
Exit end_job(const std::string& job_id, int signal);

// Prints the marker line of an answer.
void begin_answer();

}  // namespace dtl
