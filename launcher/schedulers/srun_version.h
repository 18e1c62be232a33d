#pragma once
// The version of an srun: options that it does not know would make it fail. Asking takes a
// noticeable part of a start, so the answer is cached in the user's runtime folder until the file
// changes.

#include <optional>
#include <string>
#include <vector>

#include "launcher/schedulers/srun_command.h"

namespace dtl {

// srun: its path. environment: NAME=VALUE each, for srun. nullopt, which is not cached, if srun
// gives no version within 2 s. The answer of a script is not cached either: it may run another srun
// the next time.
std::optional<SlurmVersion> version_of_srun(const std::string& srun,
                                            const std::vector<std::string>& environment);

}  // namespace dtl
