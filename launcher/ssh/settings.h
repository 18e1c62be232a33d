#pragma once
// SshSettings: how to reach a host by ssh: ~/.ssh/config and /etc/ssh/ssh_config as libssh reads
// them, then what the hostfile says, which wins. So a host that `ssh HOST` reaches needs nothing
// more for dtlaunch. Blocks (files, "Match exec"): run it in a worker.

#include <functional>
#include <memory>
#include <string>

#include "plan/request/host.h"

struct ssh_session_struct;

namespace dtl {

// Whom we trust, and who trusts us.
struct SshTrust {
  bool accept_new_host_keys = false;
  // The pods of an MPIJob share one key: the folder with its halves id_rsa, by which each lets the
  // others in, and id_rsa.pub, which each shows as its host key. Empty: the hosts are not such
  // pods.
  std::string pod_keys = {};
};

struct SshSettings {
  std::string name;      // as in the hostfile
  Host host;             // all that the hostfile says
  std::string address;   // to connect to: a name or numeric address, after HostName
  std::string key_name;  // under which known_hosts has it: the name after HostName, not addr=
  int port = 22;
  std::string user;
  std::string proxy_command;  // empty: connect directly; from ProxyCommand or ProxyJump
  std::string home;           // of the local user
  // As given to read_ssh_settings().
  SshTrust trust;
  // Configured, not connected; freed with the last of its owners.
  std::unique_ptr<ssh_session_struct, std::function<void(ssh_session_struct*)>> session;
};

// Throws Error(kConfig) when a configuration file cannot be used.
SshSettings read_ssh_settings(const Host& host, const SshTrust& trust);

}  // namespace dtl
