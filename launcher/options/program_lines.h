#pragma once
// The words of -configfile: one line for each program, in a shell's way of quoting. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct FileLine {
  int number = 0;  // of its first line in the file, from 1
  std::vector<std::string> words;
};

// Blank lines and lines that begin with '#' are left out; a backslash at the end of a line joins it
// with the next. Blanks part words; '...' and "..." keep them together, a backslash takes the next
// character as it is (within "..." only before " and \\). Nothing is expanded.
// Throws Error(kBadInput) with "path:line" where a quote is not closed.
std::vector<FileLine> read_program_lines(std::string_view text, const std::string& path);

}  // namespace dtl
