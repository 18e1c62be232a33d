#pragma once
// Reads the file of a data set. All functions but the reading are pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace dtl::trainer {

// Returns the bytes. Throws Error(kBadInput) naming the file if it is unreadable or not a regular
// file. For compressed and UTF-16 files, suggests the command that converts them. The row readers
// check for UTF-8, because they know the line.
std::string read_data_file(const std::string& path, std::size_t limit_bytes);

// Throws Error(kBadInput) if the first line separates names by something other than `separator`,
// such as "text;label" in a .csv, with the command that rewrites the file.
void check_separator(const std::string& path, std::string_view bytes, char separator);

// What to try for a file with bytes that are not UTF-8.
std::string utf8_hint(const std::string& path);

}  // namespace dtl::trainer
