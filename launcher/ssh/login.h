#pragma once
// log_in(): logs in with the user's keys only, never with a password or a prompt: a job logs in to
// many hosts at once, where nobody could answer. First it tries key files without a passphrase,
// without first asking the server whether it accepts the key (one round trip less). Then it tries
// ssh-agent, in a worker, so that a hanging agent blocks nothing.

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"
#include "wire/asio.h"

#include <memory>

namespace dtl {

// Returns when the server accepts the login. Error(kAuth) lists the keys that were tried and those
// that could not be; Error(kUnreachable) if the connection broke before the server's answer.
awaitable<void> log_in(std::shared_ptr<SshSession> session,
                       std::shared_ptr<const SshSettings> settings);

}  // namespace dtl
