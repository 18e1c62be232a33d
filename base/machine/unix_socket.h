#pragma once
// Unix sockets that only this user can use: mode 0600 in a folder of mode 0700, and the kernel's
// word (SO_PEERCRED) on who is at the other end.

#include <string>

#include "base/fd.h"

namespace dtl {

// Connected; invalid when nobody listens there, or somebody who is another user. Never waits: a
// listener whose queue is full counts as nobody.
Fd connect_unix(const std::string& path);

// Listening; replaces a socket that nobody listens on any more. Throws Error(kCannotWrite) when
// somebody does, or the path cannot be used.
Fd listen_unix(const std::string& path);

// A pidfd of the process at the other end, that listened or connected when the two were joined:
// readable once it has ended. Invalid where the kernel does not tell.
Fd peer_process(int socket);

// True when the process at the other end runs under this process's own user id.
bool peer_is_same_user(int socket);

}  // namespace dtl
