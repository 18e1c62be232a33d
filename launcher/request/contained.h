#pragma once
// What --container changes about a job before any host is asked. Pure.

#include <optional>

#include "launcher/options/command_line.h"

namespace dtl {

// Refuses options that concern programs and libraries of the hosts. Throws Error(kUsage).
void check_contained(const CommandLine& line);

// As given; ranks in a container get no variable of dtlaunch's environment by default, as with
// podman itself: PATH and the like are the image's.
std::optional<Inheritance> inheritance_of(const CommandLine& line);

}  // namespace dtl
