// A debugger stops the process while it reads symbols, so use it only for ranks that will be ended.
#include "agent/job/native_stack.h"

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "agent/node/examine_python.h"
#include "agent/node/run_program.h"
#include "base/limits.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kAtOnce = 4;  // debuggers; each may need a gigabyte to read torch's symbols

std::vector<std::string> command_for(pid_t pid) {
  // The agent's own PATH: a rank's may lead to fake debuggers.
  const char* own = std::getenv("PATH");
  const std::string path = own == nullptr ? "/usr/bin:/bin" : own;
  const std::string process = std::to_string(pid);
  if (const auto found = find_program("eu-stack", path); !found.empty()) {
    return {found, "-p", process};
  }
  if (const auto found = find_program("gdb", path); !found.empty()) {
    // -nx: a user's .gdbinit must not run. No debuginfod: downloads would take too much of the
    // time.
    return {found,
            "-nx",
            "-batch",
            "-iex",
            "set debuginfod enabled off",
            "-p",
            process,
            "-ex",
            "thread apply all -ascending backtrace 64"};
  }
  return {};
}

NativeStack read_stack(std::uint32_t rank, pid_t pid, Clock::time_point until) {
  NativeStack stack;
  stack.rank = rank;
  const std::vector<std::string> command = command_for(pid);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  if (command.empty()) {
    stack.text = "unknown: the host has neither eu-stack nor gdb";
  } else if (left.count() <= 0) {
    stack.text = "unknown: too many ranks for the time there was";
  } else {
    const ProgramOutput ran = run_program(command, left, kMaxStackBytes);
    // A debugger without permission prints something too; only a stack has a frame #0. By default
    // Yama only allows debugging of descendants, and ranks are not the debugger's.
    stack.told = ran.text.starts_with("#0 ") || ran.text.find("\n#0 ") != std::string::npos;
    stack.text = stack.told ? ran.text
                 : !ran.problem.empty()
                     ? "unknown: " + command.front() + " " + ran.problem
                     : "unknown: " + command.front() + " may not look (kernel.yama.ptrace_scope?)";
  }
  return stack;
}

}  // namespace

std::vector<NativeStack> read_native_stacks(
    const std::vector<std::pair<std::uint32_t, pid_t>>& ranks, std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  std::vector<NativeStack> stacks(ranks.size());
  // Each reader takes the next rank, so a slow rank delays no other.
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> readers;
  for (unsigned i = 0; i < kAtOnce && i < ranks.size(); ++i) {
    readers.emplace_back([&] {
      for (std::size_t at = next++; at < ranks.size(); at = next++) {
        stacks[at] = read_stack(ranks[at].first, ranks[at].second, until);
      }
    });
  }
  readers.clear();  // joins
  return stacks;
}

}  // namespace dtl
