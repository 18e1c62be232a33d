// The throughput of one TCP connection between two hosts, in both directions at once: the upper
// limit for any program with one connection. Only send and recv, on memory of the full size.
// Received data is verified.
// usage: socket_pump listen|connect ADDRESS PORT BYTES:REPEATS:TURNS:MOVED...
// Moves MOVED bytes each way. The listener prints the median of each turn as "BYTES MICROSECONDS"
// (bench/gate.h).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/gate.h"

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<unsigned>;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "socket_pump: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

int open_socket(bool listens, const char* address, int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address, &where.sin_addr) != 1) fail(address);
  const auto* name = reinterpret_cast<const sockaddr*>(&where);
  const int one = 1;
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listens) {
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (::bind(fd, name, sizeof where) != 0 || ::listen(fd, 1) != 0) fail("listen");
    const int peer = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) fail("accept");
    ::close(fd);
    fd = peer;
  } else {
    const auto deadline = Clock::now() + std::chrono::seconds(20);  // the peer starts meanwhile
    while (::connect(fd, name, sizeof where) != 0) {
      if (Clock::now() > deadline) fail("connect");
      ::close(fd);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
  }
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// Sends and receives `moved` bytes at the same time.
void pump(int fd, const char* out, char* in, std::size_t moved) {
  std::size_t sent = 0, received = 0;
  while (sent < moved || received < moved) {
    bool is_stuck = true;
    if (received < moved) {
      const ssize_t n = ::recv(fd, in + received, moved - received, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) fail("recv");
      if (n > 0) received += static_cast<std::size_t>(n), is_stuck = false;
    }
    if (sent < moved) {
      const ssize_t n = ::send(fd, out + sent, moved - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN) fail("send");
      if (n > 0) sent += static_cast<std::size_t>(n), is_stuck = false;
    }
    if (!is_stuck) continue;
    pollfd wait{
        fd, static_cast<short>((received < moved ? POLLIN : 0) | (sent < moved ? POLLOUT : 0)), 0};
    if (::poll(&wait, 1, -1) < 0 && errno != EINTR) fail("poll");
  }
}

double median_time(int fd, std::size_t moved, int repeats, unsigned own, Words& out, Words& in) {
  const std::size_t count = out.size();
  std::vector<double> times;
  for (int i = -2; i < repeats; ++i) {  // two warm-up rounds
    const auto turn = static_cast<unsigned>(i + 2) * 2;
    for (std::size_t k = 0; k < count; ++k) out[k] = static_cast<unsigned>(k) + turn + own;
    std::fill(in.begin(), in.end(), 0);
    char byte = 0;
    pump(fd, &byte, &byte, 1);  // a barrier
    const auto start = Clock::now();
    pump(fd, reinterpret_cast<const char*>(out.data()), reinterpret_cast<char*>(in.data()), moved);
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    for (std::size_t k = 0; k < moved / sizeof(unsigned); ++k) {
      if (in[k] == static_cast<unsigned>(k) + turn + 1 - own) continue;
      std::fprintf(stderr, "socket_pump: word %zu of %zu is wrong\n", k, count);
      std::exit(1);
    }
    if (i >= 0) times.push_back(time.count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

struct Wish {
  unsigned long long bytes = 0, moved = 0;
  int repeats = 0, turns = 0;
};

void take_turns(int fd, const Wish& wish, bool listens) {
  static std::uint32_t taken = 0;
  const std::size_t count = (wish.moved + sizeof(unsigned) - 1) / sizeof(unsigned);
  Words out(count), in(count);
  for (int i = 0; i < wish.turns; ++i, ++taken) {
    gate_turn(taken);
    const double time = median_time(fd, wish.moved, wish.repeats, listens ? 0 : 1, out, in);
    if (!listens) continue;
    std::printf("%llu %.1f\n", wish.bytes, time);
    gate_turn_over(taken);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool listens = argc > 1 && std::string(argv[1]) == "listen";
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: socket_pump listen|connect ADDRESS PORT BYTES:REPEATS:TURNS:MOVED...\n");
    return 64;
  }
  const int fd = open_socket(listens, argv[2], std::atoi(argv[3]));
  for (int i = 4; i < argc; ++i) {
    Wish wish;
    if (std::sscanf(argv[i], "%llu:%d:%d:%llu", &wish.bytes, &wish.repeats, &wish.turns,
                    &wish.moved) != 4 ||
        wish.repeats < 1) {
      return 64;
    }
    take_turns(fd, wish, listens);
  }
  ::close(fd);
  return 0;
}
