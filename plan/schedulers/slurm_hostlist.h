#pragma once
// Slurm's own lists, which are stricter than those of hostfiles: "n[1-2,07]r[0-1],login" of names,
// and "2(x3),1" of numbers. Flux writes names in the same form. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

// The names in the order in which Slurm numbers the nodes: that order decides which node a number
// of tasks or CPUs belongs to. A name that comes twice is there twice. Brackets hold numbers alone
// and nothing follows the last of a name. Throws position.error() with the place of the mistake,
// and for more than 65,536 names.
std::vector<std::string> expand_slurm_hostlist(std::string_view text, const TextPosition& position);

// Whether Slurm's own tool should be asked: the order of names with several brackets has changed
// between versions of Slurm.
bool has_several_brackets(std::string_view text);

// One number for each of `nodes` nodes, from 1 on. Any other count of numbers is position.error().
std::vector<int> expand_slurm_counts(std::string_view text, std::size_t nodes,
                                     const TextPosition& position);

}  // namespace dtl
