#pragma once
// Which Python a rank would get, and which of its packages matter to training.

#include <string>
#include <vector>

#include "wire/messages.h"

namespace dtl {

// The first executable with that name in a PATH; the name itself if it has a slash; empty if there
// is none.
std::string find_program(const std::string& name, const std::string& path);

// python.path, python.version, torch.version, numpy.version by the packages' metadata, without
// importing them; python.problem when the Python does not answer within five seconds. Blocks.
std::vector<Fact> examine_python(const std::vector<Fact>& parameters);

}  // namespace dtl
