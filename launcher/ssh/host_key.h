#pragma once
// check_host_key(): is this the host that we know? Asked before anything about the user is sent.
// libssh reads keys and compares hashed names; what follows from the lines is known_hosts.h's to
// judge.

#include <memory>

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"

namespace dtl {

// After ssh_connect has succeeded. Accepts what ssh accepts: files, names and commands as the
// configuration has them (known_hosts_sources.h), and where there is no ssh, the usual files.
// Error(kAuth) with FILE:LINE and both fingerprints for a key that is changed, revoked, of another
// type than the known one, or unknown; where new host keys are accepted an unknown one is added to
// the user's known_hosts instead, and said so on standard error. Of the pods of an MPIJob their own
// key alone is good, whatever known_hosts says.
awaitable<void> check_host_key(std::shared_ptr<SshSession> session,
                               std::shared_ptr<SshSettings> settings);

}  // namespace dtl
