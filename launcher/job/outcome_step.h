#pragma once
// The "try" line of the failure card. Pure.

#include <string>
#include <string_view>

#include "launcher/job/job_outcome.h"

namespace dtl {

// A command to paste, or a few words; empty if there is no advice.
std::string next_step(const Outcome& outcome, const CardFacts& facts);

// stage: of SpawnFailed. True if the program could not be executed; false if the cause is its
// folder, its CPUs or a limit of the host.
bool concerns_program(std::string_view stage);

bool out_of_memory(const Outcome& outcome, const CardFacts& facts);

// The kernel killed a process that the failed rank may have needed.
bool lost_process(const Outcome& outcome, const CardFacts& facts);

}  // namespace dtl
