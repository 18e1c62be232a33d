#pragma once
// open_ssh_session(): from a host to a session that is connected, has a known host key and is
// logged in. Calls the other files of this room in ssh's order.

#include <chrono>
#include <memory>

#include "launcher/ssh/session.h"
#include "launcher/ssh/settings.h"
#include "plan/request/host.h"

namespace dtl {

// Error(kUnreachable), Error(kTryAgain), Error(kAuth) or Error(kConfig), without the host's name. A
// server that hangs up before it has greeted us has too many logins at once (sshd's MaxStartups),
// or has refused too many of us lately (PerSourcePenalties): tried again, up to three times.
// patience: for all of it, from the host's turn to log in (login_queue.h). The session's deadline
// is its end, for what its caller does next.
awaitable<std::shared_ptr<SshSession>> open_ssh_session(asio::io_context& context, Host host,
                                                        SshTrust trust,
                                                        std::chrono::milliseconds patience);

}  // namespace dtl
