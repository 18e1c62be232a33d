#pragma once
// SchedulerEvidence: everything that the scheduler says about the job that this process is part of:
// which job it is, which part of it we are, and what the job has (hosts and slots, or this pod's
// place among the others). Pure: callers pass in the environment, and the texts of the files and of
// the command that it names.
//
// In two steps, because some schedulers keep their hosts in a file: scheduler_questions() says what
// to read, and find_scheduler() evaluates it. In between, launcher/request reads the files and runs
// the command.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/request.h"
#include "plan/schedulers/scheduler.h"

namespace dtl {

enum class SchedulerRole {
  kLauncher,  // our only process: it starts agents on the hosts
  kNode,      // the scheduler started a dtlaunch on each node: they find each other
  kRank,      // the scheduler started every rank: the same, each with a single rank
};

struct SchedulerRefusal {
  std::string attempted, reason, hint;  // as in Error
};

// The scheduler's numbering, only for kRank. dtlaunch keeps its ranks. Local ranks are numbered
// again, by where the tasks actually are.
struct SchedulerRank {
  int rank = 0, local_rank = 0, world_size = 0;
};

struct SchedulerEvidence {
  const Scheduler* scheduler = nullptr;  // nullptr: none, or the hosts that the user names
  SchedulerRole role = SchedulerRole::kLauncher;
  // Starts agents on the hosts; nullptr: ssh. kNode: the first node starts all of them.
  const Starter* starter = nullptr;
  std::string starter_folder;  // the folder of the scheduler's programs; empty: on PATH
  std::string starter_path;    // the program that was found; empty: not searched yet
  // For starters that identify hosts by number. PBS: the index of each host's first line in
  // PBS_NODEFILE, from 0, for pbsdsh. Flux: the rank of its first broker.
  std::vector<int> host_lines;
  Variables used;  // every variable that was read, with its value, sorted by name

  // kLauncher: the hosts of the allocation, in the scheduler's order and each once, with `here` for
  // this machine. Slots are absent if the scheduler gives CPUs (max_slots) but no number of tasks.
  // With node_count the scheduler has also started our processes on the other nodes, which wait for
  // this one. kNode: the hosts of all nodes if the scheduler names them (Slurm), in order of node
  // rank; else empty.
  std::vector<Host> hosts;
  bool hosts_come_late = false;  // they may start later
  std::string pod_keys;          // see SchedulerAnswers
  // These are a pod's variables, but nothing else suggests Kubernetes: the user set them by hand.
  bool outside_kubernetes = false;
  bool hosts_are_all = false;  // of the job's allocation: other hosts are rejected

  // For kNode and kRank.
  std::optional<int> node_count;      // absent: elastic, or unknown
  std::optional<int> node_rank;       // absent: the coordinator assigns it
  std::optional<int> node_hint;       // then: the number in the pod's name, only a preference
  std::optional<int> ranks_per_node;  // on every node; absent: -ppn, or this node's cores
  std::string coordinator;            // a name that may not resolve yet; empty: unknown
  int coordinator_port = 0;           // 0: unknown
  bool is_coordinator = false;        // by node rank 0, or by the pod's name if that decides
  std::optional<SizeRange> elastic;   // the number of nodes may vary within this range
  std::optional<int> max_restarts;    // PET_MAX_RESTARTS
  std::optional<SchedulerRank> rank;  // kRank

  int restart = 0;  // the scheduler's restarts of this job; 0: the first start
  // The scheduler's: a peer with another id belongs to another job or generation. May be empty.
  std::string job_id;
  std::string step_of;  // the job that job_id is a step of; empty: not a step

  // Why a job without its own hosts cannot run in this role.
  std::optional<SchedulerRefusal> refusal;
  std::vector<std::string> follows;   // for --show-scheduler, one sentence each
  std::vector<std::string> warnings;  // for the user, in any case
  std::string crowded;                // a warning about one rank per CPU; does not apply with -ppn
};

// A question to a scheduler's program: a shell script. Its argument is $0 instead of part of the
// text, so it needs no quotes.
struct ToolQuestion {
  std::string tool;  // its name in messages
  std::string script, argument;
};

// Everything that find_scheduler() needs besides the environment.
struct SchedulerQuestions {
  const Scheduler* scheduler = nullptr;
  std::string file;       // the list of hosts; empty: none
  std::string named_by;   // the variable that names the file; empty: the default path
  std::string running;    // MPIJob's list of running workers, if there is such a file
  bool pod_keys = false;  // whether to look for the mounted key that an MPIJob's pods share
  std::optional<ToolQuestion> tool;
};

struct SchedulerAnswers {
  std::optional<std::string> file;     // absent: it could not be read
  std::string file_problem;            // why
  std::optional<std::string> running;  // absent: no such file
  std::string pod_keys;                // the folder; empty: there is none
  // The output of the scheduler's program. Absent: no program, or no output.
  std::optional<std::string> tool;
  std::string host_name;   // of this machine
  int cpus = 0;            // that this process may use; 0: unknown
  int numa_nodes = 0;      // of this machine; 0: unknown
  bool has_token = false;  // for authentication between nodes
};

// `wanted` is --scheduler or DTL_SCHEDULER, nullptr for "none"; absent: decide by evidence. Both
// throw Error: kUsage if two unrelated schedulers give evidence or none supports `wanted`;
// kBadInput, with variable and value, for a value that the scheduler never writes.
SchedulerQuestions scheduler_questions(const Variables& environment,
                                       std::optional<const Scheduler*> wanted);
SchedulerEvidence find_scheduler(const Variables& environment,
                                 std::optional<const Scheduler*> wanted,
                                 const SchedulerAnswers& answers);

// How users reach the hosts on which the scheduler starts our agents. By ssh without a scheduler.
HostAccess host_access(const SchedulerEvidence& evidence);

// Whether both may be the same machine: "n1" and "n1.cluster" are; addresses only if equal. Looks
// nothing up.
bool same_host_name(const std::string& one, const std::string& other);

// What --show-scheduler prints, at most 80 columns wide.
std::string evidence_text(const SchedulerEvidence& evidence);

}  // namespace dtl
