#pragma once
// Lists of names in messages.

#include <string>
#include <vector>

namespace dtl {

// "a, b, c, d and 3 more": enough to see which, whatever their number.
std::string first_names(const std::vector<std::string>& names);

}  // namespace dtl
