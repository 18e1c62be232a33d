#pragma once
// Host ranges: "n[01-04,07]" -> n01 n02 n03 n04 n07 (zero padding is kept), and the form
// "[n01-n04]" of this project's hostfiles. Slurm's lists differ: schedulers/slurm_hostlist.h. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

// One pattern without blanks, which begins at `position` of the user's text. Several brackets
// multiply, the last one fastest. Throws an Error that carries the place of, and names, the
// offending text: unbalanced bracket, high < low, more than 65,536 hosts. The names are not checked
// (host_token.h).
std::vector<std::string> expand_hostlist(std::string_view pattern, const TextPosition& position);

constexpr std::size_t kMaxHosts = 65536;        // more names than ranks can be numbered
constexpr std::size_t kMaxHostNameBytes = 253;  // RFC 1035, without the final dot

}  // namespace dtl
