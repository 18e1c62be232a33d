#pragma once
// check_host_key(): is this the host that we know? Asked before anything about the user is sent.
// libssh reads keys and compares hashed names; what follows from the lines is known_hosts.h's to
// judge.

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
// type than the known one, or unknown; where new host keys are accepted an unknown one is added to
// the user's known_hosts instead, and said so on standard error. Of the pods of an MPIJob their own
// key alone is good, whatever known_hosts says.
awaitable<void> check_host_key(std::shared_ptr<SshSession> session,
                               std::shared_ptr<const SshSettings> settings,
                               std::shared_ptr<KnownHost> known);

}  // namespace dtl
