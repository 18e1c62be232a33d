#pragma once
// The engine that started us, from evidence: which it is, which part of its job this process is,
// and what it has given (hosts and slots, or this pod's place among its fellows). Pure: the
// environment is handed in, and the texts of the files and of the command that it names.
//
// Two steps, because some engines keep their hosts in a file: engine_questions() says what has to
// be read, find_engine() answers from it.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

enum class Engine {
  kNone,  // this machine, or the hosts that the user names
  kSlurm,
  kFlux,
  kPbs,
  kLsf,
  kSge,
  // Kubernetes:
  kMpiJob,
  kPyTorchJob,
  kTrainJob,
  kIndexedJob,  // and JobSet, whose pods are those of Indexed Jobs
};

enum class EngineRole {
  kLauncher,  // the only process of ours: it starts agents on the hosts
  kNode,      // the engine has started one of us on each node: they find each other
  kRank,      // the engine has started every rank: the same, each with one rank of its own
};

// What brings a command to a host of the allocation, in the role of the launcher.
enum class EngineStarter {
  kSsh,   // there is nothing better
  kSrun,  // one step for all hosts; agents come back by themselves. kNode: the first node does so
  kTm,    // pbs_tmrsh or pbsdsh for each host, by PBS's task manager; the same
  kBlaunch,  // blaunch HOST COMMAND, which hands standard input and output on
  kQrsh,     // qrsh -inherit HOST COMMAND, the same
};

struct EngineRefusal {
  std::string attempted, reason, hint;  // as in Error
};

// The engine's own numbering, in the role kRank alone. dtlaunch keeps to its ranks, and numbers
// local ranks by where they are found to be.
struct EngineRank {
  int rank = 0, local_rank = 0, world_size = 0;
};

struct EngineEvidence {
  Engine engine = Engine::kNone;
  EngineRole role = EngineRole::kLauncher;
  EngineStarter starter = EngineStarter::kSsh;
  // Of blaunch or qrsh, where the engine says it, and of kTm, where it was found; empty: on PATH.
  std::string starter_path;
  // kTm: of each host, its first line in PBS_NODEFILE, counted from 0, as pbsdsh has it.
  std::vector<int> host_lines;
  Variables used;  // every variable that was read, with its value, in order of their names

  // kLauncher, with node_count where the engine has started others of us as well, which wait: the
  // hosts of the allocation, in the engine's order and each once, with `here` for this machine;
  // slots are absent where the engine gives room (max_slots: CPUs) and no number of tasks. kNode:
  // those of all nodes where the engine names them (Slurm), in order of node rank; else empty.
  std::vector<Host> hosts;
  bool hosts_come_late = false;  // they need not be there yet
  std::string pod_keys;          // see EngineAnswers
  bool hosts_are_all = false;  // of the job's allocation: a host that is not among them is refused

  // kNode and kRank
  std::optional<int> node_count;      // absent: elastic, or the engine does not say
  std::optional<int> node_rank;       // absent: who coordinates gives it out
  std::optional<int> node_hint;       // then: the number in the pod's name, no more than a wish
  std::optional<int> ranks_per_node;  // of every node; absent: -ppn, or what this node has
  std::string coordinator;            // a name that may not resolve yet; empty: not known
  int coordinator_port = 0;           // 0: the engine does not say
  bool is_coordinator = false;        // by node rank 0, or by the pod's name where that says it
  std::optional<SizeRange> elastic;   // the number of nodes may change, within this
  std::optional<int> max_restarts;    // PET_MAX_RESTARTS
  std::optional<EngineRank> rank;     // kRank

  int restart = 0;  // how often the engine has started this job again; 0: the first time
  // The engine's: peers of another job or generation are strangers. May be empty.
  std::string job_id;

  // Why a job without hosts of its own cannot run in this role.
  std::optional<EngineRefusal> refusal;
  std::vector<std::string> follows;   // what --show-engine says of it, one sentence each
  std::vector<std::string> warnings;  // for the user, whatever comes next
  std::string crowded;  // a warning, where ranks_per_node is what will be: a rank on each CPU
};

// What find_engine() wants to know beside the environment.
struct EngineQuestions {
  Engine engine = Engine::kNone;
  std::string file;        // the list of hosts; empty: none
  std::string named_by;    // the variable that names the file; empty: it is the usual place
  std::string running;     // MPIJob's list of the workers that run, if there is such a file
  bool pod_keys = false;   // whether the key that an MPIJob's pods share is mounted here
  std::string expression;  // Slurm's list of hosts, if its own tool is there to be asked
  std::string flux_job;    // of which Flux's tool says the hosts
};

struct EngineAnswers {
  std::optional<std::string> file;     // absent: it could not be read
  std::string file_problem;            // why
  std::optional<std::string> running;  // absent: there is none
  std::string pod_keys;                // the folder; empty: there is none
  // What Slurm's tool says of the expression, a name a line, or Flux's of the job, a list as Slurm
  // has them. Absent: it is not there, or silent.
  std::optional<std::string> hostnames;
  std::string host_name;   // this machine's own
  int cpus = 0;            // that this process may use; 0: not known
  int numa_nodes = 0;      // of this machine; 0: not known
  bool has_token = false;  // by which nodes know each other
};

// `wanted` is --engine or DTL_ENGINE; absent: by evidence alone. Both throw Error: kUsage when two
// unrelated engines give evidence or none gives that of `wanted`, kBadInput for a value that no
// such engine writes; it names the variable and the value.
EngineQuestions engine_questions(const Variables& environment, std::optional<Engine> wanted);
EngineEvidence find_engine(const Variables& environment, std::optional<Engine> wanted,
                           const EngineAnswers& answers);

constexpr const char* kRunningWorkers = "/etc/mpi/discover_hosts.sh";
// The names in MPIJob's discover_hosts.sh, which is read and not run.
std::vector<std::string> running_workers(const std::string& text);
// How a person gets at the hosts to which the engine itself has brought us.
HostAccess engine_access(const EngineEvidence& evidence);

// "slurm", "indexed-job", "none". Throws Error(kUsage) with the nearest name for any other.
Engine parse_engine(const std::string& text);
std::string_view engine_name(Engine engine);

// The line that makes a token which all processes of such a job have, for a hint.
std::string token_line(Engine engine);

// Whether both may be one machine: "n1" and "n1.cluster"; addresses are what they are.
bool same_host_name(const std::string& one, const std::string& other);

// What --show-engine prints, at most 80 columns wide.
std::string engine_text(const EngineEvidence& evidence);

}  // namespace dtl
