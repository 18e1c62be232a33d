#pragma once
// Runs a program of the host for what it prints. Blocks, so it is for threads and not for the
// io_context's. Standard input and error are /dev/null: it can neither ask nor disturb.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct ProgramOutput {
  std::string text;     // of its standard output, the beginning
  std::string problem;  // why there is no more; empty: it has closed its output
};

// arguments: its path first, which is not looked for. Once it has closed its output, or has taken
// longer than `patience`, it is killed. Its exit status counts for nothing.
ProgramOutput run_program(std::vector<std::string> arguments, std::chrono::milliseconds patience,
                          std::size_t most_bytes);

}  // namespace dtl
