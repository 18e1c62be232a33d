#pragma once
// Is this the host that we know? Asked before anything about the user is sent.

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"

namespace dtl {

// After ssh_connect has succeeded. Error(kAuth) with FILE:LINE and both fingerprints for a key that
// is changed, revoked, of another type than the known one, or unknown; with accept_new an unknown
// one is added to the user's known_hosts instead, and said so on standard error.
void check_host_key(SshSession& session, const SshSettings& settings, bool accept_new);

}  // namespace dtl
