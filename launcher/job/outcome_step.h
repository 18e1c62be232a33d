#pragma once
// What the failure card says to try, and what decides it. Pure.

#include <string>
#include <string_view>

#include "launcher/job/job_outcome.h"

namespace dtl {

// A command or a few words that lead on; empty where nothing is known.
std::string next_step(const Outcome& outcome, const CardFacts& facts);

// The stage of a spawn that failed, as SpawnFailed has it: its program was the matter, rather than
// its folder, its CPUs or a limit of the host.
bool concerns_program(std::string_view stage);

bool out_of_memory(const Outcome& outcome, const CardFacts& facts);

// The kernel killed a process that the failed rank may have needed.
bool lost_process(const Outcome& outcome, const CardFacts& facts);

}  // namespace dtl
