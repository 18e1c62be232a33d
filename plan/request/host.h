#pragma once
// Host: one name of the hostfile (or of -hosts), before any node has been spoken to. Two of them
// may turn out to be one machine (plan/same_machine.h).

#include <optional>
#include <string>
#include <string_view>

namespace dtl {

// The command lines of a scheduler that a person types about a host of its job. {0} is the host,
// {1} the job, {2} a command line as one word, and {3} a namespace's option.
struct HostCommands {
  std::string_view state;       // shows how the host is
  std::string_view kills;       // shows what has ended a process there
  std::string_view ends;        // ends what is left of the job
  std::string_view runs;        // runs a command there
  std::string_view login = {};  // shows why nobody gets in; empty: `state` does
  bool pods = false;            // the host is a pod, and goes by that name
};

// How a person gets at a host, for the commands that messages suggest. Where a scheduler has
// started our agents, nobody may be able to log in, so ssh would be no help there.
struct HostAccess {
  const HostCommands* commands = nullptr;  // of the scheduler; nullptr: over ssh
  std::string name = {};                   // the scheduler's name of the host; empty: Host::name
  std::string job = {};                    // the scheduler's name of the job

  bool by_ssh() const { return commands == nullptr; }
  bool to_pod() const { return commands != nullptr && commands->pods; }
};

struct Host {
  std::string name;                   // as typed: a name or a numeric address (no brackets)
  std::string user;                   // empty: ssh's own rule
  int port = 0;                       // 0: ssh's own rule
  std::optional<int> slots;           // host:n, slots=n; absent: the node's physical cores decide
  std::optional<int> max_slots = {};  // what --oversubscribe may go up to; absent: no bound
  std::string address = {};     // addr=: numeric, where ssh connects to; empty: what the name says
  std::string interface = {};   // iface=: as --iface, for this host alone
  std::string pin_domain = {};  // pin_domain=: as I_MPI_PIN_DOMAIN, for this host alone
  std::string binding = {};     // binding=: as -bind-to, for this host alone
  bool here = false;            // this machine, by its own name: no ssh
  std::string where = {};       // "hosts:3:1", for messages; empty for -hosts and the local host
  HostAccess access = {};
};

}  // namespace dtl
