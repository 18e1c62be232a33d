#pragma once
// Unix sockets that only this user can use: mode 0600 in a folder of mode 0700, and the kernel
// identifies the peer (SO_PEERCRED).

#include <string>

#include "base/fd.h"
#include "base/machine/process_handle.h"

namespace dtl {

// Connected; invalid if nobody listens there, or another user does. Never waits: a listener with a
// full queue counts as nobody.
Fd connect_unix(const std::string& path);

// Whether a process of any user listens there, even with a full queue. Never waits.
bool has_listener(const std::string& path);

// Listening; replaces a socket on which nobody listens any more. Throws Error(kCannotWrite) if
// somebody does, or the path cannot be used.
Fd listen_unix(const std::string& path);

// The process at the other end when it listened or connected. Invalid if the kernel does not report
// it.
ProcessHandle peer_process(int socket);

// True if the process at the other end runs under our user id.
bool peer_is_same_user(int socket);

}  // namespace dtl
