#pragma once
// Slurm's lists, which are stricter than those of hostfiles: names as in "n[1-2,07]r[0-1],login",
// and numbers as in "2(x3),1". Flux writes names in the same form. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

// The names in the order in which Slurm numbers the nodes: that order maps task and CPU counts to
// nodes. Repeated names stay repeated. Brackets contain only numbers, and nothing follows the last
// pair in a name. Throws position.error() with the position of the mistake, and for more than
// 65,536 names.
std::vector<std::string> expand_slurm_hostlist(std::string_view text, const TextPosition& position);

// Whether to ask Slurm's own tool: the order of names with several brackets differs between
// versions of Slurm.
bool has_several_brackets(std::string_view text);

// One number for each of `nodes` nodes, 1 or more. Any other count is a position.error().
std::vector<int> expand_slurm_counts(std::string_view text, std::size_t nodes,
                                     const TextPosition& position);

}  // namespace dtl
