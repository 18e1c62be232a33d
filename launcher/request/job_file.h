#pragma once
// JobFile: what dtlaunch.toml(5) says about a job, as a plain value. The command line is read after
// it and wins. A bad file is an Error(kBadInput) that starts with "FILE:LINE".

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "plan/host.h"
#include "plan/request.h"

namespace dtl {

struct JobFile {
  std::string path;
  std::vector<std::string> command;   // program, arguments, then [trainer] as flags of dttrain;
                                      // empty: the file names no program
  std::vector<ProgramLine> programs;  // [[programs]]; never together with command
  Variables environment;              // [environment], in file order
  std::optional<Inheritance> inheritance;
  std::vector<Dialect> compat;
  std::vector<Preload> preload;
  std::optional<std::string> hostfile;  // hosts.file, seen from the job file's folder
  std::vector<Host> hosts;              // hosts.list; never together with hostfile
  std::optional<int> ranks;
  std::optional<int> ranks_per_node;
  std::optional<int> nodes;
  std::optional<int> deal;
  std::vector<int> rank_map;
  bool skip_launch_host = false;
  bool oversubscribe = false;
  std::string interface;
  std::optional<PortRange> ports;
  std::optional<AgentStart> agent_start;
  std::optional<std::string> working_directory;  // seen from the job file's folder
  std::optional<std::chrono::seconds> timeout;
  std::optional<std::chrono::seconds> grace;
  std::optional<std::string> report;         // as typed: seen from where dtlaunch was started
  bool label = false;                        // as -l
  bool pin = true;                           // pinning.enabled
  std::optional<int> threads;                // pinning.threads
  std::optional<int> comm_cores;             // pinning.comm_cores
  std::string bind_to, map_by, memory_bind;  // pinning.bind_to, .map_by, .memory; empty: not given
};

JobFile load_job_file(const std::string& path);
JobFile parse_job_file(const std::string& text, const std::string& path);

}  // namespace dtl
