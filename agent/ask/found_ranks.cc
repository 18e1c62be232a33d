#include "agent/ask/found_ranks.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "agent/job/stack_file.h"
#include "agent/jobs/job_processes.h"
#include "base/limits.h"
#include "base/machine/process_id.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kGuardName = "dtguard";

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

}  // namespace

std::vector<FoundAgent> find_agents(std::span<const RecordFile> records,
                                    const std::string& job_id) {
  std::vector<FoundAgent> agents;
  for (const RecordFile& file : records) {
    const JobRecord& record = file.record;
    const bool meant = job_id.empty() || record.job_id == job_id;
    if (!meant || record.role != "agent" || !is_running(record.process)) continue;
    // The record is FOLDER/jobs/NAME.
    const auto folder = std::filesystem::path(file.path).parent_path().parent_path();
    agents.push_back({record, fmt::format("{}/errors-{}-{}", folder.string(), record.job_id,
                                          record.process.pid)});
  }
  return agents;
}

std::vector<FoundAgent> find_agents(const std::string& job_id) {
  return find_agents(records_here(), job_id);
}

std::vector<pid_t> rank_processes(const FoundAgent& agent, std::span<const Process> processes) {
  std::vector<pid_t> ranks;
  for (const Process& process : processes) {
    const Process* parent = find_process(processes, process.parent);
    if (parent == nullptr || !is_guard_of(*parent, agent.record.process.pid)) continue;
    // Between fork and exec it is still the guard's program.
    if (process_name(process.pid) != kGuardName) ranks.push_back(process.pid);
  }
  return ranks;
}

std::optional<FoundRank> identify_rank(const FoundAgent& agent, pid_t pid) {
  const std::string job = job_of(pid);
  if (!job.empty() && job != agent.record.job_id) return std::nullopt;
  FoundRank found;
  found.pid = pid;
  found.rank = job.empty() ? -1 : rank_in_environment(pid);
  if (found.rank < 0) found.rank = rank_by_file(agent, pid);
  found.stack_path = fmt::format("{}/rank.{}.stack", agent.folder, found.rank);
  return found;
}

}  // namespace dtl
