#pragma once
// check_host_key(): checks that this is the host that we know, before anything about the user is
// sent. libssh reads keys and compares hashed names; known_hosts.h judges the lines.

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_files.h"
#include "launcher/ssh/known_hosts_sources.h"
#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"

namespace dtl {

// What the sources say about a host, before it has shown its key. One thread at a time.
struct KnownHost {
  std::shared_ptr<KnownHostsFiles> files;  // shared with the other hosts of the job
  std::string answer;                      // of `ssh -G`; empty: it was not asked
  std::string problem;                     // why `ssh -G` has no answer
  KnownHostsSources sources;
  std::vector<std::string> names;                  // as known_names() has them
  std::vector<std::vector<KnownHostsLine>> lines;  // by name, as far as they were looked up
  Fd preferred;  // libssh's known_hosts; needed until the keys are exchanged
};

// Before ssh_connect. Points settings.session at the lines about this host alone. Blocks.
std::shared_ptr<KnownHost> find_known_host(const SshSettings& settings,
                                           std::shared_ptr<KnownHostsFiles> files);

// After ssh_connect has succeeded. Accepts what ssh accepts: files, names and commands as the
// configuration has them (known_hosts_sources.h), and where there is no ssh, the usual files.
// Error(kAuth) with FILE:LINE and both fingerprints for a key that is changed, revoked, of another
// type than the known one, or unknown. If new host keys are accepted, adds an unknown one to the
// user's known_hosts and says so on standard error. Pods of an MPIJob must show their own key,
// whatever known_hosts says.
awaitable<void> check_host_key(std::shared_ptr<SshSession> session,
                               std::shared_ptr<const SshSettings> settings,
                               std::shared_ptr<KnownHost> known);

}  // namespace dtl
