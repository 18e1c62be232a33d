#pragma once
// Lists of names in messages. A job may have thousands of hosts, and a message must stay a line.

#include <string>
#include <vector>

namespace dtl {

// "a, b, c, d and 3 more": enough to identify them, however many there are. "" for none.
std::string first_names(const std::vector<std::string>& names);

}  // namespace dtl
