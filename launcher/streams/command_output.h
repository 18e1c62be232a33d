#pragma once
// What a command prints, read until it ends. Blocks.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct CommandToRead {
  std::vector<std::string> arguments;
  std::string name;  // of the command, in errors
  std::string hint;  // of errors about what it prints
  std::chrono::seconds patience{5};
  std::size_t most_bytes = 0;
  int give_up = -1;  // a descriptor; readable: the answer does not matter any more. -1: none
};

// The command has an empty standard input and our standard error; whatever it has started is ended
// with it. Empty when `give_up` became readable. Throws Error: it cannot be started, did not end in
// time, failed, or printed too much.
std::string read_command(const CommandToRead& command);

}  // namespace dtl
