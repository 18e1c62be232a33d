#pragma once
// Slurm's own lists, which are stricter than those of hostfiles: "n[1-2,07]r[0-1],login" of names,
// and "2(x3),1" of numbers. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

// The names in the order in which Slurm numbers the nodes; one that stands twice is there twice.
// Brackets hold numbers alone and nothing follows the last of a name. Throws position.error() with
// the place of what is wrong, and for more than 65,536 names.
std::vector<std::string> expand_slurm_hostlist(std::string_view text, const TextPosition& position);

// Whether Slurm's own tool had better be asked: names of several brackets come in an order that has
// changed before.
bool has_several_brackets(std::string_view text);

// One number for each of `nodes` nodes, from 1 on. Any other count of numbers is position.error().
std::vector<int> expand_slurm_counts(std::string_view text, std::size_t nodes,
                                     const TextPosition& position);

}  // namespace dtl
