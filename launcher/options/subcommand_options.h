#pragma once
// SubcommandOptions: the options of dtlaunch's subcommands. Each subcommand has its own table; all
// tables fill one struct, because they share most options. Each subcommand's folder uses them.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

// For kube render, as typed. launcher/kube checks whether the values fit together.
struct KubeWords {
  std::string kind, name = "dtlaunch", name_space, image;
  std::optional<SizeRange> nodes;
  std::optional<int> ranks_per_node, cpus, grace_s, deadline_s;
  std::string memory, shared_memory = "1Gi";
  std::vector<std::string> claims;
  std::string pull_policy;
  std::vector<std::string> pull_secrets, labels, node_selector, environment, patches;
  int restarts = 3;
  std::string secret = "dtlaunch-token";
  std::string job_file;
};

// For forecast. launcher/forecast checks whether the values fit together.
struct ForecastWords {
  std::vector<std::string> from;  // folders of measured steps
  std::vector<int> nodes;
  double link_gbits = 0, link_us = 0;  // 0: not given
  double step_s = 0, gradient_mb = 0;  // 0: not given
};

struct SubcommandOptions {
  bool help = false;
  std::string hostfile, host_list;                                // -hostfile, -hosts
  bool accept_new_host_keys = false;                              // doctor, forecast, push, up
  bool all = false;                                               // ps, history
  bool wide = false;                                              // ps, queue, ask, top
  bool epochs = false, cores = false;                             // ps
  bool failed = false;                                            // history
  std::string since;                                              // history, as typed
  std::string html;                                               // show
  bool follow = false;                                            // logs
  bool label = false;                                             // logs, attach
  std::optional<int> rank;                                        // logs
  std::chrono::milliseconds reconnect = std::chrono::minutes(1);  // logs, attach
  bool native = false;                                            // ask
  bool once = false;                                              // top
  double period_s = 0;                                            // top; 0: not given
  int signal = 15;                                                // kill
  bool remove = false;                                            // push
  PortRange ports;                                                // push; to listen on
  bool list = false;                                              // up
  std::chrono::seconds idle = std::chrono::hours(8);              // up; without a launch
  std::string interface;                                          // doctor, forecast
  std::string python;                                             // doctor
  std::string color;                                              // doctor, top
  bool quick = false;                                             // doctor
  bool json = false;  // doctor, forecast, ps, queue, ask, top, up, history, show
  int verbosity = 0;  // doctor
  KubeWords kube;
  ForecastWords forecast;

  std::vector<std::string> words;  // words that are not options
  std::vector<TypedOption> typed;  // the options as they were given, for messages

  bool names_hosts() const { return !hostfile.empty() || !host_list.empty(); }
};

// The table of one subcommand, built at the first call. Not thread-safe. `name` must be a
// subcommand.
const OptionTable<SubcommandOptions>& subcommand_options(const std::string& name);

// arguments: those after the subcommand's name. Options may come before and after the words; for
// kube only before them, because a program with its own options may follow. Throws Error(kUsage).
SubcommandOptions parse_subcommand(const std::string& name,
                                   const std::vector<std::string>& arguments);

// "dtlaunch NAME --help", the command to try.
std::string subcommand_help_command(const std::string& name);

// For a subcommand `name` that accepts only options. Throws Error(kUsage).
void refuse_words(const std::string& name, const SubcommandOptions& options);

// The hosts of -f FILE or -hosts LIST, of which at most one may be given; without both, this
// machine. Throws Error(kUsage) and Error(kBadInput).
std::vector<Host> named_hosts(const SubcommandOptions& options);

}  // namespace dtl
