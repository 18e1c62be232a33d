#pragma once
// dtagent --fence: makes sure that no process of a job runs on this node any more before the
// launcher starts the same ranks elsewhere. Two processes of one rank would write the same
// checkpoint, for example.

#include <string>

#include "base/error.h"

namespace dtl {

// Ends the job's agents here and thereby the ranks, then kills all other processes of the job.
// Prints "ended PID NAME" or "alive PID NAME" for each process that it had to kill, and "clean" if
// nothing is left; within kFenceAnswer.
Exit fence_job(const std::string& job);

}  // namespace dtl
