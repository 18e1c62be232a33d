#pragma once
// StackFile: how a rank is asked what it does. A program that can tell has made the file that
// DTLAUNCH_STACK_FILE names, with its process number as the first line. When it gets kAskSignal it
// appends what it does; `import dtring` arranges that. No other process gets that signal, which
// ends one that does not expect it. One per rank and question.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "agent/processes/process_table.h"
#include "wire/messages.h"

namespace dtl {

// A real-time signal that neither libc nor the programs known to us use; python/dtring/_stacks.py
// has the same number.
constexpr int kAskSignal = 48;

class StackFile {
 public:
  StackFile(std::string path, pid_t rank_pid) : path_(std::move(path)), rank_pid_(rank_pid) {}

  // False when nobody there can tell: there is no file, or its process does not belong to the rank
  // or does not catch the signal. Sends the signal otherwise.
  bool ask();
  // All that will come has come, or the process has ended. To be called from time to time: it
  // compares with its last look.
  bool has_answered();
  // What it has written since ask(): the end, as faulthandler's main thread comes last.
  Stack answer(std::uint32_t rank) const;

 private:
  off_t size() const;

  std::string path_;
  pid_t rank_pid_;
  pid_t pid_ = 0;     // who answers
  off_t before_ = 0;  // bytes in the file when it was asked
  off_t seen_ = 0;    // ... at the last look
};

// The name of the program that a rank runs: that of a Python among its processes, or else of the
// first one; empty when it has gone. `processes` are all of the machine, see scan_processes.
bool is_python(pid_t pid);
std::string program_of_rank(std::span<const Process> processes, pid_t rank_pid);

}  // namespace dtl
