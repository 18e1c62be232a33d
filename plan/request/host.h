#pragma once
// Host: one name of the hostfile (or of -hosts), before contacting any node. Two of them may turn
// out to be the same machine (plan/same_machine.h).

#include <optional>
#include <string>
#include <string_view>

namespace dtl {

// A scheduler's commands for users, about a host of its job. {0} is the host, {1} the job, {2} a
// command line as one word, {3} the option for a namespace.
struct HostCommands {
  std::string_view state;       // shows the host's state
  std::string_view kills;       // shows what killed a process there
  std::string_view ends;        // ends the remaining processes of the job
  std::string_view runs;        // runs a command there
  std::string_view login = {};  // shows why logins fail; empty: use `state`
  bool pods = false;            // the host is a pod, and commands use that name
};

// How users reach a host, for the commands in messages. If a scheduler started our agents, the user
// may be unable to log in, so ssh would not help.
struct HostAccess {
  const HostCommands* commands = nullptr;  // of the scheduler; nullptr: over ssh
  std::string name = {};                   // the scheduler's name of the host; empty: Host::name
  std::string job = {};                    // the scheduler's name of the job

  bool by_ssh() const { return commands == nullptr; }
  bool to_pod() const { return commands != nullptr && commands->pods; }
};

struct Host {
  std::string name;                   // as typed: a name or a numeric address (no brackets)
  std::string user;                   // empty: as ssh decides
  int port = 0;                       // 0: as ssh decides
  std::optional<int> slots;           // host:n, slots=n; absent: the node's physical cores decide
  std::optional<int> max_slots = {};  // the maximum with --oversubscribe; absent: no limit
  std::string address = {};           // addr=: numeric, for ssh; empty: use the name
  std::string interface = {};         // iface=: as --iface, only for this host
  std::string pin_domain = {};        // pin_domain=: as I_MPI_PIN_DOMAIN, only for this host
  std::string binding = {};           // binding=: as -bind-to, only for this host
  bool here = false;                  // this machine, under its own name: no ssh
  std::string where = {};  // "hosts:3:1", for messages; empty for -hosts and the local host
  HostAccess access = {};
};

}  // namespace dtl
