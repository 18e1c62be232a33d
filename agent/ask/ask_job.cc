// Finds the ranks from outside: agent's record, its guards, their children. So it needs nothing
// from the agent, which may be busy or stopped.
#include "agent/ask/ask_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>
#include <map>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "agent/ask/asked_rank.h"
#include "agent/job/native_stack.h"
#include "agent/jobs/job_processes.h"
#include "agent/jobs/jobs_here.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/process_handle.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kGuardName = "dtguard";
// The launcher takes 16 MiB from a host. Half is for native stacks.
constexpr std::size_t kMostStackBytes = 6 << 20;

struct FoundAgent {
  JobRecord record;
  std::string folder;  // for the files of its ranks; see FailureEvidence
};

std::vector<FoundAgent> agents_of(const std::string& job_id) {
  std::vector<FoundAgent> agents;
  for (const RecordFile& file : records_here()) {
    const JobRecord& record = file.record;
    if (record.job_id != job_id || record.role != "agent" || !is_running(record.process)) continue;
    // The record is FOLDER/jobs/NAME.
    const auto folder = std::filesystem::path(file.path).parent_path().parent_path();
    agents.push_back(
        {record, fmt::format("{}/errors-{}-{}", folder.string(), job_id, record.process.pid)});
  }
  return agents;
}

bool is_guard_of(const Process& process, pid_t agent) {
  return process.parent == agent && process_name(process.pid) == kGuardName;
}

// A program may overwrite its environment, as those that set their title do. Then its file tells.
int rank_by_file(const FoundAgent& agent, pid_t pid) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(agent.folder, failed)) {
    const std::string name = entry.path().filename().string();  // rank.12.stack
    const auto pieces = split(name, '.');
    if (pieces.size() != 3 || pieces[2] != "stack") continue;
    if (session_of_writer(entry.path().string()) != pid) continue;
    if (const auto rank = parse_integer(pieces[1], 0, kMaxRanks)) return static_cast<int>(*rank);
  }
  return -1;
}

std::vector<FoundRank> ranks_of(const FoundAgent& agent, const std::string& job_id,
                                std::span<const Process> processes) {
  std::vector<FoundRank> ranks;
  for (const Process& process : processes) {
    const Process* parent = find_process(processes, process.parent);
    if (parent == nullptr || !is_guard_of(*parent, agent.record.process.pid)) continue;
    // Between fork and exec it is still the guard's program.
    if (process_name(process.pid) == kGuardName) continue;
    const std::string job = job_of(process.pid);
    if (!job.empty() && job != job_id) continue;
    FoundRank found;
    found.pid = process.pid;
    found.rank = job.empty() ? -1 : rank_in_environment(process.pid);
    if (found.rank < 0) found.rank = rank_by_file(agent, process.pid);
    found.stack_path = fmt::format("{}/rank.{}.stack", agent.folder, found.rank);
    ranks.push_back(std::move(found));
  }
  return ranks;
}

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
  const std::vector<FoundAgent> agents = agents_of(job_id);
  begin_answer();
  std::string text;
  std::list<AskedRank> ranks;  // they do not move
  std::span<const Process> processes = scan_processes();
  for (const FoundAgent& agent : agents) {
    text += fmt::format("agent {} {}\n", agent.record.process.pid, agent.record.ranks);
    for (FoundRank& found : ranks_of(agent, job_id, processes)) {
      ranks.emplace_back(std::move(found), processes, boot_time());
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
