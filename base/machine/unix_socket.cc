// The kernel identifies the peer (SO_PEERCRED) at the time of connect(2) or listen(2), so for a
// descriptor passed on it still names the first process.
#include "base/machine/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dtl {
namespace {

constexpr int kQueue = 1024;  // connections of a launch on as many hosts, all at once

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A silently truncated path could be another socket's.
  if (path.size() >= sizeof address.sun_path) {
    throw Error(Exit::kConfig, path + ": cannot use the socket", "its path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

Fd new_socket(int flags) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd.valid()) throw system_error("cannot create a unix socket");
  return fd;
}

}  // namespace

ProcessHandle peer_process(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return ProcessHandle(peer.pid);
}

bool peer_is_same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

Fd connect_unix(const std::string& path) {
  const sockaddr_un address = address_of(path);
  // A blocking connect(2) waits while the listener's queue is full.
  Fd fd = new_socket(SOCK_NONBLOCK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      !peer_is_same_user(fd.get())) {
    return Fd();
  }
  // Only connecting must not wait.
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

bool has_listener(const std::string& path) {
  const sockaddr_un address = address_of(path);
  const Fd fd = new_socket(SOCK_NONBLOCK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return true;
  }
  return errno != ECONNREFUSED && errno != ENOENT && errno != ENOTDIR;  // EAGAIN: the queue is full
}

Fd listen_unix(const std::string& path) {
  const std::string attempted = path + ": cannot listen";
  if (has_listener(path)) {
    throw Error(Exit::kCannotWrite, attempted, "another process listens there");
  }
  // Nobody answered: a killed process left it.
  ::unlink(path.c_str());
  const sockaddr_un address = address_of(path);
  Fd fd = new_socket(0);
  // bind(2) creates the file with mode 0777 minus the umask. The umask belongs to the whole
  // process, so it is changed only for this call.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(before);
  if (bound != 0 || ::listen(fd.get(), kQueue) != 0) {
    throw system_error(attempted, Exit::kCannotWrite);
  }
  return fd;
}

}  // namespace dtl
