#pragma once
// dtagent --fence: makes sure that nothing of a job runs on this node any more, before its launcher
// starts the same ranks elsewhere. Two processes of one rank would write the same checkpoint, for
// example.

#include <string>

#include "base/error.h"

namespace dtl {

// Ends the job's agents here, and with them the ranks, then whatever else belongs to the job. Says
// "ended PID NAME" for each process that had to be killed one by one, and "clean" when nothing is
// left, or "alive PID NAME" for what is; within kFenceAnswer.
Exit fence_job(const std::string& job);

}  // namespace dtl
