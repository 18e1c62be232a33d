#pragma once
// Host ranges: "n[01-04,07]" -> n01 n02 n03 n04 n07 (zero padding is kept), and the form
// "[n01-n04]" of this project's hostfiles.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

// One pattern without blanks. Throws Error(kBadInput) whose attempted part is "column N" (1-based,
// within the pattern) and whose reason names the offending text: unbalanced bracket, high < low,
// more than 65,536 hosts.
std::vector<std::string> expand_hostlist(std::string_view pattern);

}  // namespace dtl
