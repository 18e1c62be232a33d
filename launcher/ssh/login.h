#pragma once
// log_in(): logs in with the user's keys, and nothing else: no password, no question, ever. A job
// logs in to many hosts at once, where nobody could answer. First come the keys in files that need
// no passphrase, without asking beforehand whether the server would take them (one round trip
// less), then ssh-agent in a worker, so that an agent that hangs stops nobody.

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"
#include "wire/asio.h"

#include <memory>

namespace dtl {

// Returns when the server has let us in. Error(kAuth) lists the keys that were tried and those that
// could not be; Error(kUnreachable) where the connection broke before the server had judged.
awaitable<void> log_in(std::shared_ptr<SshSession> session,
                       std::shared_ptr<const SshSettings> settings);

}  // namespace dtl
