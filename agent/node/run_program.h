#pragma once
// Runs a program of the host and returns its output. Blocks, so use it on threads, or for programs
// that answer at once. Its standard input is /dev/null, and unless asked for, so is its standard
// error. So it cannot wait for an answer, or print on the agent's.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct ProgramOutput {
  std::string text;     // the beginning of its standard output
  std::string problem;  // why the output is incomplete; empty: complete
};

struct RunOptions {
  bool with_errors = false;    // its standard error counts as output
  std::string library_folder;  // in front of its LD_LIBRARY_PATH; empty: none
};

// arguments: first the program's path; PATH is not searched. Kills the program once it has closed
// its output or `patience` is over. Ignores its exit status. Never throws.
ProgramOutput run_program(std::vector<std::string> arguments, std::chrono::milliseconds patience,
                          std::size_t most_bytes, const RunOptions& options = {});

}  // namespace dtl
