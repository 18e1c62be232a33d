#pragma once
// Which version an srun is: options that it does not know would make it fail. It is asked once, as
// that costs a noticeable part of a start; the answer is kept in the user's runtime folder for as
// long as the file stays the same.

#include <optional>
#include <string>
#include <vector>

#include "launcher/schedulers/srun_command.h"

namespace dtl {

// srun: its path. environment: NAME=VALUE each, of the srun that is asked. nullopt when it does not
// say it within 2 s, or says something else; that is not kept. Neither is what a script says, which
// may run another srun the next time.
std::optional<SlurmVersion> version_of_srun(const std::string& srun,
                                            const std::vector<std::string>& environment);

}  // namespace dtl
