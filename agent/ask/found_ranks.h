#pragma once
// FoundRanks: the ranks of jobs on this node, found from outside: an agent's record, its guards,
// their children. Needs nothing from the agent, which may be busy or stopped. Only this user's
// jobs. Whatever cannot be read is not found.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/processes/process_table.h"
#include "base/machine/job_record.h"

namespace dtl {

struct FoundAgent {
  JobRecord record;
  std::string folder;  // for the files of its ranks; see FailureEvidence
};

// A rank's process as found among the machine's processes.
struct FoundRank {
  int rank = -1;  // -1: its environment does not say
  pid_t pid = 0;
  std::string stack_path;  // see stack_file.h
};

// The running agents of a job among these records; of all jobs with an empty job_id.
std::vector<FoundAgent> find_agents(std::span<const RecordFile> records, const std::string& job_id);
// The same, among the records of this machine.
std::vector<FoundAgent> find_agents(const std::string& job_id);

// The first process of each rank that the agent runs. processes: all of the machine, see
// scan_processes.
std::vector<pid_t> rank_processes(const FoundAgent& agent, std::span<const Process> processes);

// nullopt: it belongs to another job.
std::optional<FoundRank> identify_rank(const FoundAgent& agent, pid_t pid);

}  // namespace dtl
