#pragma once
// The command line of dtlaunch as a value. mpirun's spellings are first turned into one canonical
// form (`-np 4`, `--np=4`, `-NP 4` -> `--np=4`), which CLI11 then parses and checks. Everything
// from the first word that is no option on is the command and stays untouched. Pure.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "plan/request.h"

namespace dtl {

enum class Action { kRun, kHelp, kVersion, kShowLimits };

struct CommandLine {
  Action action = Action::kRun;
  std::string hostfile, hosts;  // at most one of them
  std::optional<int> ranks, ranks_per_node;
  bool oversubscribe = false;
  std::string interface;
  bool accept_new_host_keys = false;
  std::string job_file;  // -c; empty: ./dtlaunch.toml when no program is given
  Variables set;         // -genv and -env, in order
  std::string working_directory;
  bool dry_run = false;
  bool prepend_rank = false;
  std::string report;
  int verbosity = 0;  // 1: -v, 2: -vv
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> grace;
  std::vector<std::string> command;
};

// arguments: without argv[0]. Throws Error(kUsage).
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace dtl
