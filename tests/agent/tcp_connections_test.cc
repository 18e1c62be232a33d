#include "agent/node/tcp_connections.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "base/fd.h"

namespace dtl::tcp_connections_test {
namespace {

// A connection of this process to itself, over one of the machine's addresses.
struct Pair {
  Fd listener, near, far;

  explicit Pair(in_addr_t host_order) {
    listener = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(host_order);
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listener.get(), address, size) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), address, &size) != 0) {
      return;
    }
    near = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(near.get(), address, size) != 0) return;
    far = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
};

// In host byte order; loopback if there is no other address.
in_addr_t own_address() {
  ifaddrs* all = nullptr;
  in_addr_t found = INADDR_LOOPBACK;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const in_addr_t address =
        ntohl(reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr);
    if (address >> 24 != IN_LOOPBACKNET) found = address;
  }
  ::freeifaddrs(all);
  return found;
}

const TcpConnection* find(const std::vector<TcpConnection>& all, const Fd& socket) {
  struct stat status {};
  ::fstat(socket.get(), &status);
  const auto at = std::find_if(all.begin(), all.end(), [&](const TcpConnection& connection) {
    return connection.inode == status.st_ino;
  });
  return at == all.end() ? nullptr : &*at;
}

TEST(TcpConnections, LeavesLoopbackOut) {
  const Pair pair(INADDR_LOOPBACK);
  ASSERT_TRUE(pair.far.valid());
  EXPECT_EQ(find(tcp_connections(), pair.near), nullptr);
}

TEST(TcpConnections, CountsWhatHasArrivedAtThePeer) {
  const in_addr_t own = own_address();
  if (own == INADDR_LOOPBACK) GTEST_SKIP() << "this machine has no address but loopback";
  const Pair pair(own);
  ASSERT_TRUE(pair.far.valid());
  const std::string bytes(100'000, 'x');
  std::size_t read = 0;
  ASSERT_EQ(::send(pair.near.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  char piece[4096];
  while (read < bytes.size()) {
    const ssize_t got = ::recv(pair.far.get(), piece, sizeof piece, 0);
    ASSERT_GT(got, 0);
    read += static_cast<std::size_t>(got);
  }
  const auto all = tcp_connections();
  const TcpConnection* found = find(all, pair.near);
  ASSERT_NE(found, nullptr);
  EXPECT_GE(found->acked, bytes.size());
}

std::uint16_t port_of(const Fd& socket) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

int count_at(std::uint16_t port, bool listens) {
  const auto ends = tcp_ends();
  if (!ends) return -1;
  return static_cast<int>(std::count_if(ends->begin(), ends->end(), [&](const TcpEnd& end) {
    return end.listens == listens && (end.local_port == port || end.peer_port == port);
  }));
}

TEST(TcpEnds, AreKnownWhileTheyListenAndAfterTheyWereClosed) {
  if (!tcp_ends()) GTEST_SKIP() << "the kernel does not tell";
  std::uint16_t port = 0;
  {
    const Pair pair(INADDR_LOOPBACK);
    ASSERT_TRUE(pair.far.valid());
    port = port_of(pair.listener);
    EXPECT_EQ(count_at(port, true), 1);
    EXPECT_EQ(count_at(port, false), 2);
  }
  EXPECT_EQ(count_at(port, true), 0);
  EXPECT_GE(count_at(port, false), 1) << "whoever closes first waits for a minute";
}

}  // namespace
}  // namespace dtl::tcp_connections_test
