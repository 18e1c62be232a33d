// Finds the ranks from outside (found_ranks.h). So it needs nothing from the agent, which may be
// busy or stopped.
#include "agent/ask/ask_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "agent/ask/asked_rank.h"
#include "agent/ask/found_ranks.h"
#include "agent/job/native_stack.h"
#include "agent/jobs/jobs_here.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/process_handle.h"
#include "base/text.h"

namespace dtl {
namespace {

// The launcher takes 16 MiB from a host. Half is for native stacks.
constexpr std::size_t kMostStackBytes = 6 << 20;

std::chrono::milliseconds boot_time() {
  return std::chrono::milliseconds(boot_time_ms());
}

// Returns when all have answered, but not before the shares of the CPU mean something.
void await_answers(std::list<AskedRank>& ranks) {
  constexpr std::chrono::milliseconds kLook{10}, kLeast{300};
  const auto began = boot_time();
  for (;;) {
    bool all = true;
    for (AskedRank& rank : ranks) {
      rank.look();
      all = all && rank.has_answered();
    }
    const auto passed = boot_time() - began;
    if (passed >= kAskAnytime || (all && passed >= kLeast)) return;
    std::this_thread::sleep_for(kLook);
  }
}

// If a debugger was killed while it stopped a rank, that rank would stay stopped.
void wake(pid_t pid) {
  if (process_state(pid) == ProcessState::kStopped) ProcessHandle(pid).signal(SIGCONT);
}

std::map<const AskedRank*, std::string> native_lines(const std::list<AskedRank>& ranks,
                                                     std::size_t most_bytes) {
  std::vector<std::pair<std::uint32_t, pid_t>> asked;
  std::vector<const AskedRank*> order;
  std::vector<pid_t> ran;
  for (const AskedRank& rank : ranks) {
    const ProcessState state = process_state(rank.process());
    if (!rank.may_ask() || state == ProcessState::kGone) continue;
    if (state == ProcessState::kRuns) ran.push_back(rank.process());
    asked.emplace_back(asked.size(), rank.process());
    order.push_back(&rank);
  }
  std::map<const AskedRank*, std::string> lines;
  for (const NativeStack& stack : read_native_stacks(asked, kAskNative)) {
    const std::string text = stack.text.substr(0, most_bytes);
    lines[order[stack.rank]] =
        (stack.told ? "native told\n" : "native unknown\n") + quoted_lines(text);
  }
  for (const pid_t pid : ran) wake(pid);
  return lines;
}

}  // namespace

Exit ask_job(const std::string& job_id, bool native) {
  const std::vector<FoundAgent> agents = find_agents(job_id);
  begin_answer();
  std::string text;
  std::list<AskedRank> ranks;  // they do not move
  std::span<const Process> processes = scan_processes();
  for (const FoundAgent& agent : agents) {
    text += fmt::format("agent {} {}\n", agent.record.process.pid, agent.record.ranks);
    for (const pid_t pid : rank_processes(agent, processes)) {
      if (auto found = identify_rank(agent, pid)) {
        ranks.emplace_back(std::move(*found), processes, boot_time());
      }
    }
  }
  if (!ranks.empty()) await_answers(ranks);
  const std::size_t most_bytes =
      std::min(kMaxStackBytes, kMostStackBytes / std::max<std::size_t>(ranks.size(), 1));
  processes = scan_processes();
  const auto now = boot_time();
  std::map<const AskedRank*, std::string> reports;
  for (AskedRank& rank : ranks) reports[&rank] = rank.report(processes, now, most_bytes);
  // Last, as a debugger changes the states above.
  const auto natives = native ? native_lines(ranks, most_bytes) : decltype(reports){};
  for (const AskedRank& rank : ranks) {
    text += reports[&rank];
    if (const auto at = natives.find(&rank); at != natives.end()) text += at->second;
  }
  write_all(STDOUT_FILENO, text + "end\n");
  return Exit::kOk;
}

}  // namespace dtl
