#pragma once
// FileLine: the lines of -configfile, cut into words in a shell's way of quoting: one line for each
// program. No shell reads them, so nothing is expanded or run. What the words mean is
// command_line.h's business. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct FileLine {
  int number = 0;  // of its first line in the file, from 1
  std::vector<std::string> words;
};

// Blank lines and lines that begin with '#' are left out. A backslash at the end of a line joins it
// with the next one. Blanks part words; '...' and "..." keep them together. A backslash takes the
// next character as it is; within "..." only before " and \\, as in a shell. Nothing is expanded.
// Throws Error(kBadInput) with "path:line" where a quote is not closed.
std::vector<FileLine> read_program_lines(std::string_view text, const std::string& path);

}  // namespace dtl
