#pragma once
// FileLine: the lines of -configfile, split into words with a shell's quoting, one line for each
// program. Nothing is expanded or run. command_line.h interprets the words. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct FileLine {
  int number = 0;  // of its first line in the file, from 1
  std::vector<std::string> words;
};

// Skips blank lines and lines that begin with '#'. A backslash at the end of a line joins it with
// the next one. Blanks separate words; '...' and "..." keep them together. A backslash quotes the
// next character; within "..." only before " and \\, as in a shell. Throws Error(kBadInput) with
// "path:line" for an unclosed quote.
std::vector<FileLine> read_program_lines(std::string_view text, const std::string& path);

}  // namespace dtl
