#pragma once
// The command line of dtagent: one table gives the parser, --help and the shells' completions.
// dtlaunch writes most of these command lines. Pure: main.cc performs the actions.

#include <string>
#include <vector>

#include "base/options/completion.h"

namespace dtl {

struct AgentOptions {
  // Ways to serve a launcher on standard input and output; dtagent(8) has the differences.
  // unsignalled only adds to serve or idle.
  bool stdio = false, serve = false, unsignalled = false,
       idle = false;   // where a launcher is expected
  bool child = false;  // --child
  bool input = false;  // --input
  bool service = false, allow_root = false, bridge = false;
  bool jobs = false, cores = false, clean = false, sweep = false;
  // Job ids and links as typed; main.cc checks their form. Empty: not asked for.
  std::string clean_job;  // --clean-job
  std::string fence;      // --fence
  std::string rejoin;     // --rejoin
  std::string log_of;     // --log
  std::string ask;        // --ask
  bool native = false;    // --native
  std::string watch;      // --watch; words has the period
  bool follow = false, from_end = false;
  std::string after;    // --after
  bool hold = false;    // --hold
  std::string end;      // --end; words has the signal
  std::string receive;  // --receive; words has the files
  bool receive_folder = false;
  std::string shell;  // --completion
  bool help = false, version = false, verbose = false;

  std::vector<std::string> words;  // after --end JOB, --watch JOB and --receive NAME
};

// arguments: without argv[0]. Checks that exactly one action is asked for, and no option that
// belongs to another one. Throws Error(kUsage).
AgentOptions parse_agent_options(const std::vector<std::string>& arguments);

std::string help_text();
Completion own_completion();

}  // namespace dtl
