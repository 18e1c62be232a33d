#pragma once
// SshSettings: how to reach a host by ssh: libssh reads ~/.ssh/config and /etc/ssh/ssh_config; the
// hostfile overrides them. So dtlaunch reaches every host that `ssh HOST` reaches. Blocks (files,
// "Match exec"): run it in a worker.

#include <functional>
#include <memory>
#include <string>

#include "plan/request/host.h"

struct ssh_session_struct;

namespace dtl {

// Whom we trust, and how we log in.
struct SshTrust {
  bool accept_new_host_keys = false;
  // The pods of an MPIJob share one key pair: the folder with id_rsa, with which each pod logs in
  // to the others, and id_rsa.pub, which each shows as its host key. Empty: the hosts are not such
  // pods.
  std::string pod_keys = {};
};

struct SshSettings {
  std::string name;      // as in the hostfile
  Host host;             // the hostfile's entry
  std::string address;   // to connect to: a name or numeric address, after HostName
  std::string key_name;  // for known_hosts: the name after HostName, not addr=
  int port = 22;
  std::string user;
  std::string proxy_command;  // empty: connect directly; from ProxyCommand or ProxyJump
  std::string home;           // of the local user
  // The argument of read_ssh_settings().
  SshTrust trust;
  // Configured, not connected; the last owner frees it.
  std::unique_ptr<ssh_session_struct, std::function<void(ssh_session_struct*)>> session;
};

// Throws Error(kConfig) if a configuration file cannot be used.
SshSettings read_ssh_settings(const Host& host, const SshTrust& trust);

}  // namespace dtl
