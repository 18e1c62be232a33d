#pragma once
// From what the user typed to what the plan needs: the command line, the job file and the hostfile
// read and merged. The command line wins over the job file.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launcher/job/job.h"
#include "launcher/options/command_line.h"
#include "plan/request/request.h"

namespace dtl {

// The part of an engine's job in which agents start: a step of Slurm, or tasks of PBS.
struct StepPlan {
  EngineStarter by = EngineStarter::kSrun;  // or kTm
  std::string program;                      // its path
  std::string job;                          // the engine's number of the job
  std::vector<Host> nodes;                  // where agents may be wanted, by the engine's names
  bool whole = false;                       // these are all of the allocation
  bool only = false;  // other hosts are refused; else agents start otherwise there
  std::chrono::seconds patience{0};
  // kSrun: the step in which dtlaunch waits on the other nodes; empty: there is none.
  std::string beside = {};
  // kTm:
  std::vector<int> lines = {};    // of each node, as EngineEvidence::host_lines has it
  std::string meeting_host = {};  // this machine, as the nodes know it
};

struct JobSettings {
  Request request;
  JobOptions job;
  AgentStart agent_start = AgentStart::kSsh;
  Engine engine = Engine::kNone;          // that has started this job
  std::vector<Host> allocation;           // the only hosts that it may have; empty: any
  std::vector<std::string> carrier;       // what brings agents to hosts; empty: ssh
  HostAccess access;                      // of its hosts
  std::optional<StepPlan> step;           // or this, in the place of both
  std::string pod_keys;                   // as StartOptions::trust has it
  std::optional<JobTime> hosts_patience;  // hosts that are not there yet are waited for so long
  bool label = false;                     // some label stands before each line
  ConsoleOptions console;
  InputChoice stdin_for;
  std::optional<SizeRange> host_range;  // --nnodes MIN:MAX
  std::string discover;                 // --discover; empty: none
  std::vector<Host> spares;             // hosts that may take the place of lost ones, in order
  std::string report;                   // empty: none
  std::string on_event;                 // --on-event's command; empty: none
  std::vector<std::string> notices;     // for the user, before anything starts
  std::vector<std::string> notes;       // the same, for -v
};

// Where dtlaunch was started, and by what.
struct Surroundings {
  Variables environment;
  std::string working_directory;  // absolute
  std::string program_directory;  // where dtlaunch itself lies
  std::uint32_t umask = 022;
  // What --discover lists. Throws Error.
  std::function<std::vector<Host>(const std::string&)> discover = {};
  // What Slurm's scontrol makes of a list of hosts, a name a line; nullopt without an answer.
  std::function<std::optional<std::string>(const std::string&)> scontrol = {};
  // The hosts of a job of Flux, a list as Slurm has them; the same.
  std::function<std::optional<std::string>(const std::string&)> flux_hosts = {};
  // What Slurm says of its version and settings; empty without an answer.
  std::function<std::string()> slurm_config = {};
  bool has_token = false;  // of a job whose nodes find each other
};

Surroundings current_surroundings();

// Reads files. Throws Error(kUsage) and Error(kBadInput).
JobSettings describe_job(const CommandLine& line, const Surroundings& around);

// What --show-engine prints. Throws as describe_job() does.
std::string describe_engine(const CommandLine& line, const Surroundings& around);

// The line with what the job file says beside it; hosts_named: whether either names hosts.
CommandLine with_job_file(const CommandLine& line, bool& hosts_named);

// The hosts, from the first on, that a job of this size needs; all of them when some host's slots
// are known only to itself. Pure.
std::vector<Host> needed_hosts(const Request& request);

}  // namespace dtl
