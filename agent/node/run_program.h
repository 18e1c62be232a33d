#pragma once
// Runs a program of the host for what it prints. Blocks.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct ProgramOutput {
  std::string text;     // of its standard output, the beginning
  std::string problem;  // empty: it has closed its output
};

// arguments: its path first. Once it has closed its output, or takes too long, it is killed.
ProgramOutput run_program(std::vector<std::string> arguments, std::chrono::milliseconds patience,
                          std::size_t most_bytes);

}  // namespace dtl
