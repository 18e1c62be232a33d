#pragma once
// Abstract unix sockets: their names are in no file system, and end with the last process that has
// them open. Every process of the network namespace may connect.

#include <string>

#include "base/fd.h"

namespace dtl {

// Bound, not listening yet, never waits. name: 1 to 107 bytes. Throws Error(kOs).
Fd bind_abstract(const std::string& name);

// From now on a claim; further connections wait until accept_waiting() has closed them. Error(kOs).
void listen_abstract(const Fd& socket);

// The connection that waits longest; invalid if none waits.
Fd accept_one(const Fd& socket);
// Takes and closes the connections of those who asked whose the socket is, as many as may wait:
// others may connect as fast as this takes.
void accept_waiting(const Fd& socket);

// Connected; invalid, with errno, if nobody listens there (ECONNREFUSED), or the listener's queue
// is full (EAGAIN). Never waits.
Fd connect_abstract(const std::string& name);

}  // namespace dtl
