#pragma once
// The command line of dtagent. Pure.

#include <string>
#include <vector>

#include "base/options/completion.h"

namespace dtl {

struct AgentOptions {
  bool stdio = false, serve = false, unsignalled = false,
       idle = false;   // where a launcher is expected
  bool child = false;  // --child
  bool input = false;  // --input
  bool service = false, allow_root = false, bridge = false;
  bool jobs = false, clean = false, sweep = false;
  std::string clean_job;  // --clean-job
  std::string fence;      // --fence
  std::string rejoin;     // --rejoin
  std::string log_of;     // --log
  bool follow = false, from_end = false;
  std::string after;    // --after
  std::string end;      // --end; the signal is the one word
  std::string receive;  // --receive; the words are files
  std::string shell;    // --completion
  bool help = false, version = false, verbose = false;

  std::vector<std::string> words;  // behind --end JOB and --receive NAME
};

// arguments: without argv[0]. Exactly one of the things to do is asked for, and options that belong
// to another one are not. Throws Error(kUsage).
AgentOptions parse_agent_options(const std::vector<std::string>& arguments);

std::string help_text();
Completion own_completion();

}  // namespace dtl
