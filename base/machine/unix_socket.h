#pragma once
// Unix sockets that only this user can use: mode 0600 in a folder of mode 0700, and the kernel's
// word (SO_PEERCRED) on who is at the other end.

#include <string>

#include "base/fd.h"
#include "base/machine/process_handle.h"

namespace dtl {

// Connected; invalid when nobody listens there, or somebody who is another user. Never waits: a
// listener whose queue is full counts as nobody.
Fd connect_unix(const std::string& path);

// Whether a process of any user listens there, however full its queue is. Never waits.
bool has_listener(const std::string& path);

// Listening; replaces a socket that nobody listens on any more. Throws Error(kCannotWrite) when
// somebody does, or the path cannot be used.
Fd listen_unix(const std::string& path);

// The process at the other end, that listened or connected when the two were joined. Invalid where
// the kernel does not tell.
ProcessHandle peer_process(int socket);

// True when the process at the other end runs under this process's own user id.
bool peer_is_same_user(int socket);

}  // namespace dtl
