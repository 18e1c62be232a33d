#pragma once
// Addresses and non-blocking TCP sockets, IPv4 and IPv6. Every descriptor is CLOEXEC and O_NONBLOCK
// from creation, because other threads of the program may fork and exec at any time. Sockets do not
// use BBR (avoid_bbr). Failures are CommError(DT_E_SYS) naming address and port. Knows nothing of
// secrets or of the bytes' meaning.

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"

namespace dtl::ring {

class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t bytes);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const { return bytes_; }
  int family() const { return storage_.ss_family; }
  int port() const;
  Address with_port(int port) const;
  bool is_unspecified() const;  // 0.0.0.0 or ::
  std::string host() const;     // "10.0.0.1", "fd00::1"
  std::string text() const;     // "10.0.0.1:29500", "[fd00::1]:29500"

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

// All addresses of a numeric address or a name, in the resolver's order; never empty. Blocks like
// the resolver. Throws CommError: DT_E_SYS, or DT_E_NOMEM.
std::vector<Address> resolve(const std::string& name, int port);

// BBR paces a connection at its last measured rate, with timers, and drains it periodically to
// measure the delay: for bursts between neighbours that costs up to 100 ms each. Call it before
// connecting: accepted connections inherit the setting, and timers once used stay in use.
void avoid_bbr(int fd);
// Listens on exactly this address (port 0: any free port).
Fd listen_on(const Address& address, int backlog);
struct Accepted {
  Fd fd;
  Address from;
  int shortage = 0;  // errno: a connection waits, and there is no descriptor or memory for it yet
};
// Throws when accepting will go on failing: not a listener. Otherwise fd is invalid when no
// connection waits, when one has gone again, or for a shortage, after which to pause.
Accepted accept_from(int listener);
// Starts to connect. Connected when the socket is writable and pending_error is 0. Reading
// pending_error clears it.
Fd start_connect(const Address& address);
int pending_error(int fd);

Address local_address(int fd);
// Whether a connection's other end has another address than its own, so that it needs encryption.
// False for sockets other than TCP.
bool leaves_this_host(int fd);
// Disables Nagle's algorithm: frames are written whole, and the end of one must not wait for the
// acknowledgement of earlier data.
void send_without_delay(int fd);
// Gives up a peer after this silence. Not for data connections, only for those whose reader always
// drains them: a rank that computes for a while closes its window, and the timeout for
// unacknowledged data would mistake that for death.
void notice_dead_hosts(int fd, std::chrono::milliseconds silence);

}  // namespace dtl::ring
