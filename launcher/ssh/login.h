#pragma once
// Logs in with the user's keys, and nothing else: no password, no question, ever. First the keys in
// files that need no passphrase, without asking beforehand whether the server would take them (one
// round trip less), then ssh-agent in a worker, so that an agent that hangs stops nobody.

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"
#include "wire/asio.h"

#include <memory>

namespace dtl {

// Error(kAuth) lists the keys that were tried and those that could not be.
awaitable<void> log_in(std::shared_ptr<SshSession> session,
                       std::shared_ptr<const SshSettings> settings);

}  // namespace dtl
