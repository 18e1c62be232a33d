#pragma once
// The conclusions of `dtlaunch doctor`. Pure: examinations in, findings out, so tests can invent
// hosts. doctor_hosts.h makes the examinations.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "launcher/doctor/ssh_config_check.h"
#include "launcher/network/network.h"
#include "plan/pinning/topology.h"

namespace dtl {

struct Examination {  // of one host
  std::string name;
  std::optional<Error> failure;  // why it did not come up, or went away
  std::string noise;             // what its login shell printed before the agent
  // Absent if the agent sent no Hello.
  std::optional<NodeFacts> facts;
  std::map<std::string, std::string> more;  // Examined, by name
  std::optional<double> clock_ahead_s;      // of ours; half the round trip is its uncertainty
  double clock_uncertain_s = 0;
  InterfaceFilter own;  // iface= of its line
  Listening listening;
  // Endpoint::node is an index among all hosts, up or not.
  std::vector<Attempt> attempts;        // of small packets, to every other host
  std::vector<Attempt> large_attempts;  // of large ones, on the chosen network
  std::vector<IgnoredKeyword> ignored;  // keywords of the launcher's ssh_config, for this host
};

// The hosts that are up, as input for the choice of a network. Indexes in `attempts` are renumbered
// to these hosts.
std::vector<ProbedNode> probed_nodes(const std::vector<Examination>& hosts);

struct Link {  // measured with libdtring
  std::size_t from = 0, to = 0;
  double gbits = -1;  // below 0: could not be measured
  double trip_us = -1;
  double cpu_ns = -1;  // CPU time for a byte, of sender and receiver together
};

// In order of severity. kError: a job would not start. kWarning: a job would suffer. kNote: may
// explain slowness.
enum class Level { kOk, kNote, kWarning, kError };
const char* level_name(Level level);

struct Finding {
  Level level = Level::kOk;
  std::string check;               // "login", "network", ...: stable, for --json
  std::vector<std::string> hosts;  // the hosts concerned; empty: all
  std::string text;
  std::string fix;      // what to do or to try; may be empty
  int exit_status = 0;  // of an error: the status of a job's start
};

// Everything but the bandwidth. Errors come first, then sorted by check.
std::vector<Finding> find_all(const std::vector<Examination>& hosts, const InterfaceFilter& filter);

// Names the links that are far below the median of all, and those that could not be measured.
std::vector<Finding> judge_links(const std::vector<std::string>& names,
                                 const std::vector<Link>& links);

// 0 when a job would start, otherwise the status of the first error.
int exit_status(const std::vector<Finding>& findings);

}  // namespace dtl
