#pragma once
// StackFile: asks a rank for its stack. A program that supports this creates the file that
// DTLAUNCH_STACK_FILE names, with its pid as the first line, and appends its stacks when it gets
// one of the signals below; `import dtring` arranges that. The signal is sent to no other process,
// as it kills those that do not expect it. One object per rank and question.

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "agent/processes/process_table.h"
#include "wire/messages.h"

namespace dtl {

// A real-time signal that neither libc nor known programs use; python/dtring/_stacks.py has the
// same number.
constexpr int kAskSignal = 48;
// The same for ranks that will run on (dtlaunch ask). A process that stops catching it between the
// check and the signal ignores it, while kAskSignal would end it.
constexpr int kAskAnytimeSignal = SIGWINCH;

class StackFile {
 public:
  StackFile(std::string path, pid_t rank_pid, int signal = kAskSignal)
      : path_(std::move(path)), rank_pid_(rank_pid), signal_(signal) {}

  // Sends the signal. False if nobody can answer: there is no file, or its process is not the
  // rank's or does not catch the signal.
  bool ask();
  // Whether the answer is complete or the process has ended. Call it repeatedly: it compares with
  // the last call.
  bool has_answered();
  pid_t answerer() const { return pid_; }  // the process that was asked
  // The text written since ask(), cut to its end, where faulthandler puts the main thread.
  Stack answer(std::uint32_t rank) const;

 private:
  off_t size() const;

  std::string path_;
  pid_t rank_pid_;
  int signal_;
  pid_t pid_ = 0;     // the process that answers
  off_t before_ = 0;  // file size when it was asked
  off_t seen_ = 0;    // ... at the last has_answered()
};

// The session of the process that the file's first line names; 0: none that exists.
pid_t session_of_writer(const std::string& path);

// The program that a rank runs: a Python among its processes, or else the first one; empty if it
// has gone. `processes`: all of the machine, see scan_processes.
bool is_python(pid_t pid);
std::string program_of_rank(std::span<const Process> processes, pid_t rank_pid);

}  // namespace dtl
