// Opens and accepts sockets without Asio, which leaves out SOCK_CLOEXEC: agents would inherit them.
#include "launcher/join/join_listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "wire/connect/tcp_connect.h"

namespace dtl {
namespace {

// As many as may authenticate at a time (join_door.cc).
constexpr int kBacklog = 64;
constexpr std::chrono::milliseconds kShortage{100};  // wait after running out of descriptors

template <class Address>
bool bind_to(int socket, const Address& address) {
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Fd new_socket(int family) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  // Old connections in TIME_WAIT must not keep us from taking the port again.
  if (fd.valid()) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return fd;
}

// One IPv6 socket takes both kinds; a host without IPv6 gets an IPv4 socket. Invalid if the port is
// taken.
Fd listen_on(std::uint16_t port) {
  Fd fd = new_socket(AF_INET6);
  if (fd.valid()) {
    const int off = 0;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (bind_to(fd.get(), address) && ::listen(fd.get(), kBacklog) == 0) return fd;
    // No fallback to IPv4: the port would be taken for the nodes that use IPv6.
    if (errno == EADDRINUSE || errno == EACCES) return Fd();
  }
  fd = new_socket(AF_INET);
  if (!fd.valid()) return Fd();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return bind_to(fd.get(), address) && ::listen(fd.get(), kBacklog) == 0 ? std::move(fd) : Fd();
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  // At the same offset for both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

JoinListener::JoinListener(asio::io_context& context, PortRange ports, Taken taken)
    : socket_(context), shortage_(context), taken_(std::move(taken)) {
  for (std::uint32_t port = ports.low; port <= ports.high; ++port) {
    Fd fd = listen_on(static_cast<std::uint16_t>(port));
    if (!fd.valid()) continue;
    port_ = port_of(fd.get());
    start(std::move(fd));
    return;
  }
  throw Error(Exit::kConfig, "cannot wait for the nodes of the job",
              ports.low == ports.high
                  ? fmt::format("port {} is not free here", ports.low)
                  : fmt::format("none of the ports {}-{} is free here", ports.low, ports.high),
              fmt::format("ss -ltn 'sport >= {} and sport <= {}'", ports.low, ports.high));
}

void JoinListener::start(Fd listening) {
  socket_.assign(asio::ip::tcp::v6(), listening.release());
  accept();
}

void JoinListener::accept() {
  socket_.async_wait(asio::ip::tcp::acceptor::wait_read, [this](boost::system::error_code) {
    if (!socket_.is_open()) return;
    Fd caller(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    const int problem = caller.valid() ? 0 : errno;
    if (problem == EMFILE || problem == ENFILE || problem == ENOBUFS || problem == ENOMEM) {
      // The socket stays readable when descriptors run out. Without a pause this would take a whole
      // core.
      return accept_later();
    }
    if (caller.valid()) {
      set_link_options(caller.get());
      taken_(std::move(caller));
    }
    if (socket_.is_open()) accept();
  });
}

void JoinListener::accept_later() {
  shortage_.expires_after(kShortage);
  shortage_.async_wait([this](boost::system::error_code) {
    if (socket_.is_open()) accept();
  });
}

void JoinListener::close() {
  boost::system::error_code ignored;  // closing twice is not an error
  socket_.close(ignored);
}

bool JoinListener::open_again() {
  if (is_open()) return true;
  Fd fd = listen_on(static_cast<std::uint16_t>(port_));
  if (!fd.valid()) return false;
  start(std::move(fd));
  return true;
}

}  // namespace dtl
