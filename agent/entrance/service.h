#pragma once
// dtagent --service: waits for launchers on a unix socket of this user and gives each connection an
// agent of its own, a process, so that no job can harm another. The socket comes from systemd
// (LISTEN_FDS) or is made here. One thread.

#include <string>

#include "base/error.h"

namespace dtl {

// Until SIGTERM or SIGINT; the jobs' agents are told to end then, and waited for. Call it before
// anything closes inherited descriptors. Throws Error: root without allow_root, no place to listen.
Exit run_service(const std::string& own_folder, bool allow_root);

}  // namespace dtl
