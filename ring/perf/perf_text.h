#pragma once
// Texts of dtring-perf's report that can be tested without a communicator. Pure.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl::ring {

// "0-2,5 on node1" for each host, in order of the first rank.
std::vector<std::string> ranks_by_host(const std::vector<std::string>& hosts);

// The members of a JSON object as written, names without quotes: {"a": [1]} -> a, [1]. Empty if the
// text is not an object.
std::vector<std::pair<std::string, std::string>> json_members(std::string_view text);
std::string json_string(std::string_view text);

// Lines of at most `width`, broken after commas and spaces if possible.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Four digits or more: 0.012, 1.234, 12.34, 123.4, 12345.
std::string four_digits(double value);

}  // namespace dtl::ring
