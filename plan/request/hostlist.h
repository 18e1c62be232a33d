#pragma once
// Host ranges: "n[01-04,07]" -> n01 n02 n03 n04 n07 (keeps zero padding), and the form "[n01-n04]"
// of this project's hostfiles. Slurm's lists differ: schedulers/slurm_hostlist.h. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

// Expands one pattern without spaces, which begins at `position` of the user's text. Several
// brackets multiply, the last one fastest. Throws an Error with the place and the invalid text:
// unbalanced bracket, high < low, more than 65,536 hosts. Does not check the names (host_token.h).
std::vector<std::string> expand_hostlist(std::string_view pattern, const TextPosition& position);

constexpr std::size_t kMaxHosts = 65536;        // there are fewer rank numbers
constexpr std::size_t kMaxHostNameBytes = 253;  // RFC 1035, without the final dot

}  // namespace dtl
