#pragma once
// Addresses and non-blocking TCP sockets, IPv4 and IPv6. Every descriptor is CLOEXEC and O_NONBLOCK
// from birth, because other threads of the program may fork and exec at any time. Sockets are kept
// off BBR (avoid_bbr). Failures are CommError(DT_E_SYS) naming address and port. Knows nothing of
// secrets and of what the bytes mean.

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

// All addresses of a numeric address or a name, in the resolver's order; never empty. Blocks as
// long as the resolver does. Throws CommError: DT_E_SYS, or DT_E_NOMEM.
std::vector<Address> resolve(const std::string& name, int port);

// BBR holds a connection to the rate that it has measured last, by timers, and drains it now and
// then to measure its delay: between neighbours with bursts that costs up to 100 ms at a time. Best
// before there is a connection: accepted ones inherit it, and timers once used stay in use.
void avoid_bbr(int fd);
// Listens on exactly this address (port 0: any free port).
Fd listen_on(const Address& address, int backlog);
struct Accepted {
  Fd fd;
  Address from;
};
// Throws when accepting will go on failing (out of descriptors, not a listener). Otherwise fd is
// invalid when no connection waits, or when one has gone again.
Accepted accept_from(int listener);
// Starts to connect. It is done when the socket is writable and pending_error is 0. Reading
// pending_error clears it.
Fd start_connect(const Address& address);
int pending_error(int fd);

Address local_address(int fd);
// Whether a connection's other end has another address than its own: such bytes need encryption.
// False for sockets that are not TCP.
bool leaves_this_host(int fd);
// Turns Nagle's algorithm off: frames are written whole, and the last part of one must not wait for
// the acknowledgement of what came before.
void send_without_delay(int fd);
// Gives a peer up after this silence. Only for connections that their reader always drains, so not
// for data: a rank that computes for a while closes its window, and the time-out for unacknowledged
// data would count that as death.
void notice_dead_hosts(int fd, std::chrono::milliseconds silence);

}  // namespace dtl::ring
