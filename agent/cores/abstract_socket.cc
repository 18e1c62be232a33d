#include "agent/cores/abstract_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace dtl {
namespace {

constexpr int kQueue = 4096;  // Linux's default limit since 5.4

struct Address {
  sockaddr_un place{};
  socklen_t size = 0;

  explicit Address(const std::string& name) {
    // A job's id comes from the launcher.
    if (name.empty() || name.size() >= sizeof place.sun_path) {
      throw Error(Exit::kBadInput, "cannot name a socket", "the name is too long");
    }
    place.sun_family = AF_UNIX;
    std::memcpy(place.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&place); }
};

Fd new_socket() {
  return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

Fd bind_abstract(const std::string& name) {
  Fd socket = new_socket();
  if (!socket.valid()) throw system_error("cannot create a socket");
  const Address address(name);
  if (::bind(socket.get(), address.get(), address.size) != 0) {
    throw system_error("cannot bind a socket");
  }
  return socket;
}

void listen_abstract(const Fd& socket) {
  if (::listen(socket.get(), kQueue) != 0) throw system_error("cannot listen");
}

Fd accept_one(const Fd& socket) {
  return Fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

void accept_waiting(const Fd& socket) {
  for (int taken = 0; taken <= kQueue; ++taken) {  // a queue holds one more than its length
    if (!accept_one(socket).valid()) return;
  }
}

Fd connect_abstract(const std::string& name) {
  Fd socket = new_socket();
  const Address address(name);
  if (!socket.valid() || ::connect(socket.get(), address.get(), address.size) != 0) return {};
  return socket;
}

}  // namespace dtl
