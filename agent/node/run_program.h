#pragma once
// Runs a program of the host and returns its output. Blocks, so use it on threads, not on the
// io_context's. Its standard input and error are /dev/null: it can neither ask nor disturb.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct ProgramOutput {
  std::string text;     // the beginning of its standard output
  std::string problem;  // why the output is incomplete; empty: complete
};

// arguments: first the program's path; PATH is not searched. Kills the program once it has closed
// its output or `patience` is over. Ignores its exit status. Never throws.
ProgramOutput run_program(std::vector<std::string> arguments, std::chrono::milliseconds patience,
                          std::size_t most_bytes);

}  // namespace dtl
