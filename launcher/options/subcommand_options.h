#pragma once
// SubcommandOptions: the options of dtlaunch's subcommands. Each subcommand has a table of its own,
// and all tables fill one struct: they share most options. What a subcommand does with them is its
// own room's business.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

// Of kube render, as typed. Whether the values fit together is checked in launcher/kube.
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

struct SubcommandOptions {
  bool help = false;
  std::string hostfile, host_list;                                // -hostfile, -hosts
  bool accept_new_host_keys = false;                              // doctor, push, up
  bool all = false, wide = false, epochs = false;                 // ps
  bool follow = false;                                            // logs
  bool label = false;                                             // logs, attach
  std::optional<int> rank;                                        // logs
  std::chrono::milliseconds reconnect = std::chrono::minutes(1);  // logs, attach
  int signal = 15;                                                // kill
  bool remove = false;                                            // push
  bool list = false;                                              // up
  std::chrono::seconds idle = std::chrono::hours(8);              // up; of no launch
  std::string interface, python;                                  // doctor
  bool quick = false, json = false;                               // doctor
  int verbosity = 0;                                              // doctor
  KubeWords kube;

  std::vector<std::string> words;  // what is not an option
  std::vector<TypedOption> typed;  // the options as they were given, for messages

  bool names_hosts() const { return !hostfile.empty() || !host_list.empty(); }
};

// The table of one subcommand, made at the first call. Not safe to call from several threads.
// `name` is a subcommand's.
const OptionTable<SubcommandOptions>& subcommand_options(const std::string& name);

// arguments: those after the subcommand's name. Options may stand before and after the words; of
// kube only before them, since a program with options of its own may follow. Throws Error(kUsage).
SubcommandOptions parse_subcommand(const std::string& name,
                                   const std::vector<std::string>& arguments);

// "dtlaunch NAME --help", the command to try.
std::string subcommand_help_command(const std::string& name);

// For a subcommand `name` that takes options only. Throws Error(kUsage).
void refuse_words(const std::string& name, const SubcommandOptions& options);

// The hosts of -f FILE or -hosts LIST, of which at most one may be given; this machine when neither
// is. Throws Error(kUsage) and Error(kBadInput).
std::vector<Host> named_hosts(const SubcommandOptions& options);

// The number of a signal: "TERM", "SIGTERM", "15"; nullopt when there is no such signal. Real-time
// signals have numbers alone.
std::optional<int> signal_by_name(std::string_view text);

}  // namespace dtl
