#pragma once
// The "try" line of the failure card: what to do about an outcome. job_outcome.h describes the
// outcome. Pure.

#include <string>
#include <string_view>

#include "launcher/job/job_outcome.h"

namespace dtl {

// A command to paste, or a few words. Empty if there is no advice.
std::string next_step(const Outcome& outcome, const CardFacts& facts);

// stage: of SpawnFailed. True if the program could not be executed; false if the cause is its
// folder, its CPUs or a limit of the host.
bool concerns_program(std::string_view stage);

// The kernel killed the failed rank itself for want of memory.
bool out_of_memory(const Outcome& outcome, const CardFacts& facts);

// The kernel killed another process of the job on that host, which the failed rank may have needed,
// such as a data loader.
bool lost_process(const Outcome& outcome, const CardFacts& facts);

}  // namespace dtl
