#pragma once
// Is this the host that we know? Asked before anything about the user is sent.

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"

namespace dtl {

// After ssh_connect has succeeded. Error(kAuth) with FILE:LINE and both fingerprints for a key that
// is changed, revoked, of another type than the known one, or unknown; where new host keys are
// accepted an unknown one is added to the user's known_hosts instead, and said so on standard
// error. Of the pods of an MPIJob their own key alone is good, whatever known_hosts says.
void check_host_key(SshSession& session, const SshSettings& settings);

}  // namespace dtl
