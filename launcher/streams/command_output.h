#pragma once
// A command's output, read until it ends. Blocks.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct CommandToRead {
  std::vector<std::string> arguments;
  std::string name;  // of the command, in errors
  std::string hint;  // for errors about the output
  std::chrono::seconds patience{5};
  std::size_t most_bytes = 0;
  int give_up = -1;  // a descriptor; readable: give up. -1: none
};

// The command has an empty standard input and our standard error; everything that it has started is
// killed at its end. Returns empty if `give_up` became readable. Throws Error if it cannot be
// started, did not end in time, failed, or printed too much.
std::string read_command(const CommandToRead& command);

}  // namespace dtl
