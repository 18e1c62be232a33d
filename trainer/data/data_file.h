#pragma once
// A data set's file as it is found on the disk. Only the reading is not pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace dtl::trainer {

// Its bytes. Throws Error(kBadInput) naming the file for what cannot be read as a file, a pipe
// among it, and, with the command that makes text of it, for what is compressed or in UTF-16. That
// the rest is UTF-8 is left to the readers, who know the line.
std::string read_data_file(const std::string& path, std::size_t limit_bytes);

// Throws Error(kBadInput) where the first line has names with another separator between them than
// `separator`, as "text;label" in a .csv, with the command that rewrites the file.
void check_separator(const std::string& path, std::string_view bytes, char separator);

// What to try with a file that has bytes which are not UTF-8.
std::string utf8_hint(const std::string& path);

}  // namespace dtl::trainer
