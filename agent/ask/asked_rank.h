#pragma once
// AskedRank: one running rank that `dtlaunch ask` looks at from outside, and asks for its stack. It
// only reads /proc, and sends a signal that is ignored by default to a process that catches it. So
// it cannot harm the job. Owned by ask_job(); one thread.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/ask/found_ranks.h"
#include "agent/job/rank_observer.h"
#include "agent/job/stack_file.h"
#include "agent/processes/process_table.h"
#include "base/fd.h"
#include "wire/messages.h"

namespace dtl {

// Each line begins with "| ", so a rank's text cannot look like another line of the answer.
std::string quoted_lines(const std::string& text);

class AskedRank {
 public:
  // processes: all of the machine, see scan_processes.
  AskedRank(FoundRank found, std::span<const Process> processes, std::chrono::milliseconds now);

  // Call it every few milliseconds: asks the rank once nobody else asks it, and looks at its state.
  void look();
  bool has_answered() const { return word_ != Word::kWaits; }
  // The lines for dtlaunch, without its native stack; launcher/jobs/rank_answers.h parses them.
  // most_bytes: of its stack.
  std::string report(std::span<const Process> processes, std::chrono::milliseconds now,
                     std::size_t most_bytes);

  int rank() const { return found_.rank; }
  pid_t process() const { return observer_.process(); }
  bool may_ask() const { return own_; }

 private:
  enum class Word { kWaits, kAnswered, kCannot, kRefused };
  std::uint32_t number() const;

  FoundRank found_;
  bool own_;  // it belongs to this user
  Word word_ = Word::kWaits;
  RankObserver observer_;
  StackFile file_;
  Fd lock_;  // on the stack file, so that two askers take turns
  bool asked_ = false;
  Stack answer_;  // with kAnswered
  std::uint64_t first_cpu_ms_ = 0;
  std::vector<CommState> before_;
  std::chrono::milliseconds began_;
};

}  // namespace dtl
