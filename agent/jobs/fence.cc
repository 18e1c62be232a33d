// Ends agents first, by their records: they end their ranks in order. Then it kills every process
// with the job in its environment, such as those of killed agents and agents without a record.
#include "agent/jobs/fence.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <thread>
#include <vector>

#include "agent/jobs/job_processes.h"
#include "agent/jobs/jobs_here.h"
#include "agent/processes/process_table.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/process_handle.h"
#include "base/text.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

// Time for agents to end their ranks. When an agent is killed after that, its guard kills the
// ranks.
constexpr auto kAgentPatience = 2500ms;
constexpr auto kLook = 20ms;

void end_agents(const std::string& job) {
  std::vector<ProcessHandle> agents;
  for (const RecordFile& file : records_here()) {
    const JobRecord& record = file.record;
    if (record.job_id != job || record.role != "agent") continue;
    ProcessHandle agent(record.process);
    if (agent.valid()) agents.push_back(std::move(agent));
  }
  for (const ProcessHandle& agent : agents) {
    agent.signal(SIGTERM);
    // A stopped process handles SIGTERM only once it continues.
    agent.signal(SIGCONT);
  }
  const auto until = Clock::now() + kAgentPatience;
  for (const ProcessHandle& agent : agents) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (!agent.ends_within(std::max(left, 0ms))) agent.signal(SIGKILL);
  }
}

// This process and those above it may have the job in their environment too. Killing them would cut
// off the answer.
bool is_above_us(std::span<const Process> processes, pid_t pid) {
  for (pid_t at = ::getpid(); at > 1;) {
    if (at == pid) return true;
    const Process* process = find_process(processes, at);
    at = process == nullptr ? 0 : process->parent;
  }
  return false;
}

std::vector<pid_t> processes_of(const std::string& job) {
  const auto processes = scan_processes();
  std::vector<pid_t> found;
  for (const Process& process : processes) {
    const bool belongs = process.alive && is_own(process.pid) && job_of(process.pid) == job;
    if (belongs && !is_above_us(processes, process.pid)) found.push_back(process.pid);
  }
  return found;
}

}  // namespace

Exit fence_job(const std::string& job) {
  begin_answer();
  // A second less than the launcher waits: the answer takes time to reach it.
  const auto until = Clock::now() + kFenceAnswer - 1s;
  end_agents(job);
  std::map<pid_t, std::string> killed;
  std::vector<pid_t> left;
  // A process may start another one during a scan, so it takes two empty scans in a row. Without
  // time for them (this process was stopped), the answer is not clean.
  int clean = 0;
  while (clean < 2 && Clock::now() < until) {
    left = processes_of(job);
    clean = left.empty() ? clean + 1 : 0;
    for (const pid_t pid : left) {
      const ProcessHandle process(pid);
      if (job_of(pid) != job) continue;  // another process has this pid now
      killed.try_emplace(pid, trim(read_proc(pid, "comm")));
      process.signal(SIGKILL);
    }
    std::this_thread::sleep_for(kLook);
  }
  for (const auto& [pid, name] : killed) {
    const bool alive = std::find(left.begin(), left.end(), pid) != left.end();
    write_all(STDOUT_FILENO, fmt::format("{} {} {}\n", alive ? "alive" : "ended", pid, name));
  }
  write_all(STDOUT_FILENO, clean == 2 ? "clean\nend\n" : "end\n");
  return Exit::kOk;
}

}  // namespace dtl
