#pragma once
// dtagent --ask: what the ranks of a running job do on this node, for `dtlaunch ask`. A process of
// its own that does not talk to the job's agent: a stopped agent does not block it, and a fault
// here cannot end the job.

#include <string>

#include "base/error.h"

namespace dtl {

// Prints, after the marker line of wire/answer.h:
//   agent PID RANKS                       for each agent of the job here; none: it has none
//   rank RANK PID STATE CPU_MS CPU_PERCENT MEMORY_KIB THREADS AGE_S PROGRAM
//   waits OPCODE BEGUN COMPLETED RANK WORLD   of libdtring's collectives, see CommState
//   answer told | silent | stopped | busy | cannot | refused
//   native told | unknown                 with `native`
// Lines of stacks begin with "| " and follow "answer" or "native". The last line is "end".
// native: also asks a debugger, which stops each rank for a moment.
Exit ask_job(const std::string& job_id, bool native);

}  // namespace dtl
