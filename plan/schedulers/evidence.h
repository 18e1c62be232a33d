#pragma once
// SchedulerEvidence: everything that the scheduler that has started us says of its job: which job
// it is, which part of it this process is, and what it has given (hosts and slots, or this pod's
// place among its fellows). Pure: the environment is handed in, and the texts of the files and of
// the command that it names.
//
// Two steps, because some schedulers keep their hosts in a file: scheduler_questions() says what
// has to be read, find_scheduler() answers from it. launcher/request reads the files and runs the
// command in between.

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
  kLauncher,  // the only process of ours: it starts agents on the hosts
  kNode,      // the scheduler has started one of us on each node: they find each other
  kRank,      // the scheduler has started every rank: the same, each with one rank of its own
};

struct SchedulerRefusal {
  std::string attempted, reason, hint;  // as in Error
};

// The scheduler's own numbering, in the role kRank alone. dtlaunch keeps to its ranks. Local ranks
// are numbered anew, by where the tasks turn out to be.
struct SchedulerRank {
  int rank = 0, local_rank = 0, world_size = 0;
};

struct SchedulerEvidence {
  const Scheduler* scheduler = nullptr;  // nullptr: none, or the hosts that the user names
  SchedulerRole role = SchedulerRole::kLauncher;
  // Brings agents to the hosts; nullptr: ssh. kNode: the first node brings them to all.
  const Starter* starter = nullptr;
  std::string starter_folder;  // where the scheduler keeps its programs; empty: on PATH
  std::string starter_path;    // the program that was found; empty: none yet
  // For starters that address hosts by number. PBS: of each host its first line in PBS_NODEFILE,
  // counted from 0, as pbsdsh wants it. Flux: the rank of its first broker.
  std::vector<int> host_lines;
  Variables used;  // every variable that was read, with its value, in order of their names

  // kLauncher: the hosts of the allocation, in the scheduler's order and each once, with `here` for
  // this machine. Slots are absent where the scheduler gives room (max_slots: CPUs) and no number
  // of tasks. With node_count the scheduler has started others of us as well, which wait for this
  // one. kNode: the hosts of all nodes where the scheduler names them (Slurm), in order of node
  // rank; else empty.
  std::vector<Host> hosts;
  bool hosts_come_late = false;  // they need not be there yet
  std::string pod_keys;          // see SchedulerAnswers
  // The variables are those of a pod, and nothing else shows Kubernetes: somebody set them by hand.
  bool outside_kubernetes = false;
  bool hosts_are_all = false;  // of the job's allocation: a host that is not among them is refused

  // kNode and kRank
  std::optional<int> node_count;      // absent: elastic, or the scheduler does not say
  std::optional<int> node_rank;       // absent: who coordinates gives it out
  std::optional<int> node_hint;       // then: the number in the pod's name, which is only a wish
  std::optional<int> ranks_per_node;  // of every node; absent: -ppn, or what this node has
  std::string coordinator;            // a name that may not resolve yet; empty: not known
  int coordinator_port = 0;           // 0: the scheduler does not say
  bool is_coordinator = false;        // by node rank 0, or by the pod's name where that says it
  std::optional<SizeRange> elastic;   // the number of nodes may change, within this
  std::optional<int> max_restarts;    // PET_MAX_RESTARTS
  std::optional<SchedulerRank> rank;  // kRank

  int restart = 0;  // how often the scheduler has started this job again; 0: the first time
  // The scheduler's: peers of another job or generation are strangers. May be empty.
  std::string job_id;
  std::string step_of;  // the job that job_id is a step of; empty: of none

  // Why a job without hosts of its own cannot run in this role.
  std::optional<SchedulerRefusal> refusal;
  std::vector<std::string> follows;   // for --show-scheduler, one sentence each
  std::vector<std::string> warnings;  // for the user, whatever comes next
  std::string crowded;                // a warning of a rank on each CPU; void with -ppn
};

// A question to a scheduler's own program: a script for the shell. The argument comes as $0 and not
// as a part of the text, so it needs no quotes.
struct ToolQuestion {
  std::string tool;  // as messages call it
  std::string script, argument;
};

// Everything that find_scheduler() needs beside the environment.
struct SchedulerQuestions {
  const Scheduler* scheduler = nullptr;
  std::string file;       // the list of hosts; empty: none
  std::string named_by;   // the variable that names the file; empty: it is the usual place
  std::string running;    // MPIJob's list of the workers that run, if there is such a file
  bool pod_keys = false;  // whether the key that an MPIJob's pods share is mounted here
  std::optional<ToolQuestion> tool;
};

struct SchedulerAnswers {
  std::optional<std::string> file;     // absent: it could not be read
  std::string file_problem;            // why
  std::optional<std::string> running;  // absent: there is none
  std::string pod_keys;                // the folder; empty: there is none
  // The output of the scheduler's own program. Absent: it is not there, or silent.
  std::optional<std::string> tool;
  std::string host_name;   // this machine's own
  int cpus = 0;            // that this process may use; 0: not known
  int numa_nodes = 0;      // of this machine; 0: not known
  bool has_token = false;  // by which nodes know each other
};

// `wanted` is --scheduler or DTL_SCHEDULER, nullptr for none of them; absent: by evidence alone.
// Both throw Error: kUsage when two unrelated schedulers give evidence or none gives that of
// `wanted`, kBadInput for a value that no such scheduler writes; it names the variable and the
// value.
SchedulerQuestions scheduler_questions(const Variables& environment,
                                       std::optional<const Scheduler*> wanted);
SchedulerEvidence find_scheduler(const Variables& environment,
                                 std::optional<const Scheduler*> wanted,
                                 const SchedulerAnswers& answers);

// How a person gets at the hosts to which the scheduler itself has brought us. Over ssh without a
// scheduler.
HostAccess host_access(const SchedulerEvidence& evidence);

// Whether both may be one machine: "n1" and "n1.cluster" are, and addresses only if equal. Nothing
// is looked up.
bool same_host_name(const std::string& one, const std::string& other);

// What --show-scheduler prints, at most 80 columns wide.
std::string evidence_text(const SchedulerEvidence& evidence);

}  // namespace dtl
