#pragma once
// Host: one name of the hostfile (or of -hosts), before any node has been spoken to.

#include <optional>
#include <string>

namespace dtl {

// How a person gets at a host, for what messages suggest: where an engine has started our agents
// there, nobody may be able to log in.
struct HostAccess {
  enum class By {
    kSsh,
    kSlurm,
    kFlux,
    kLsf,
    kSge,
    kPbs,        // whose pbs_tmrsh has started our agents
    kPbsdsh,     // or its pbsdsh
    kPod,        // which ends with the job
    kWorkerPod,  // which stays: an MPIJob's
  };
  By by = By::kSsh;
  std::string name = {};  // the engine's name of the host; empty: Host::name
  std::string job = {};   // the engine's name of the job
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
