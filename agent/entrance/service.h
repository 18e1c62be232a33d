#pragma once
// dtagent --service: accepts launchers on a unix socket of this user and starts a separate agent
// process for each, so no job can harm another. The socket comes from systemd (LISTEN_FDS) or is
// created here. One thread.

#include <string>

#include "base/error.h"

namespace dtl {

// Runs until SIGTERM or SIGINT, then ends the jobs' agents and waits for them. Call it before
// anything closes inherited descriptors. Throws Error: root without allow_root, no place to listen.
Exit run_service(const std::string& own_folder, bool allow_root);

}  // namespace dtl
