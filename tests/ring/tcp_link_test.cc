// Which connection a frame uses, and the socket options of connections.
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ring/common/socket.h"
#include "ring/links/tcp_link.h"

namespace dtl::ring::test::tcp_link_test {
namespace {

struct Nobody : Sink {
  std::optional<std::byte*> admit(int, const FrameHead&, const OperationHeader*) override {
    return std::nullopt;
  }
  void arrived(int, const FrameHead&, std::byte*) override {}
  void sent(int, const FrameHead&) override {}
  void left(int, std::uint64_t) override {}
  void broken(int, int) override {}
};

// Opens this many connections of the bulk lane and gives them to the link in this order.
std::vector<Fd> connect_streams(TcpLink& link, const std::vector<std::uint32_t>& order,
                                std::vector<int>* near = nullptr) {
  std::vector<Fd> far(order.size());
  for (const std::uint32_t number : order) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    if (near != nullptr) near->push_back(ends[0]);
    link.add_stream(Lane::kBulk, number, Fd(ends[0]));
    far[number] = Fd(ends[1]);
  }
  return far;
}

// The stream on which the next frame arrives.
std::size_t stream_of_next_frame(TcpLink& link, const std::vector<Fd>& far) {
  Nobody nobody;
  FrameHead head;
  head.magic = kFrameMagic;
  head.lane = static_cast<std::uint8_t>(Lane::kBulk);
  link.begin(head, nullptr, nullptr, nullptr);
  link.step(nobody);
  for (std::size_t i = 0; i < far.size(); ++i) {
    std::array<char, 256> bytes;
    if (::recv(far[i].get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) return i;
  }
  return far.size();
}

struct Woken : Waker {
  void wake(int peer) override { peers.push_back(peer); }
  std::vector<int> peers;
};

// In a world of a thousand ranks each turn would otherwise look at a thousand links.
TEST(TcpLink, WantsNoStepUntilSomethingHappens) {
  TcpLink link(7, false);
  std::vector<int> near;
  const std::vector<Fd> far = connect_streams(link, {0, 1}, &near);
  Woken woken;
  link.set_waker(woken);
  Nobody nobody;
  link.step(nobody);
  EXPECT_FALSE(link.wants_step());
  EXPECT_TRUE(woken.peers.empty());
  FrameHead head;
  head.magic = kFrameMagic;
  head.lane = static_cast<std::uint8_t>(Lane::kBulk);
  ASSERT_EQ(::send(far[1].get(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  link.set_ready(near[1], true, false, false);
  EXPECT_EQ(woken.peers, std::vector<int>{7});
  EXPECT_TRUE(link.wants_step());
  link.step(nobody);
  // Nobody admits the frame, so it must be offered again.
  EXPECT_TRUE(link.wants_step());
  TcpLink sending(8, false);
  const std::vector<Fd> reader = connect_streams(sending, {0});
  sending.set_waker(woken);
  sending.step(nobody);
  EXPECT_EQ(stream_of_next_frame(sending, reader), 0u);
  EXPECT_EQ(woken.peers.back(), 8);
  EXPECT_FALSE(sending.wants_step());
}

TEST(TcpLink, EachEndBeginsWithAnotherStream) {
  for (const auto& order : {std::vector<std::uint32_t>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    TcpLink lower(1, false), higher(0, true);
    const auto of_lower = connect_streams(lower, order), of_higher = connect_streams(higher, order);
    for (int frame = 0; frame < 3; ++frame) {
      EXPECT_EQ(stream_of_next_frame(lower, of_lower), 0U);
      EXPECT_EQ(stream_of_next_frame(higher, of_higher), 2U);
    }
  }
}

TEST(TcpLink, TakesAnotherStreamWhileOneIsFull) {
  TcpLink link(1, false);
  const auto far = connect_streams(link, {0, 1});
  Nobody nobody;
  const std::vector<std::byte> payload(64 << 20);
  FrameHead head;
  head.magic = kFrameMagic;
  head.lane = static_cast<std::uint8_t>(Lane::kBulk);
  head.bytes = static_cast<std::uint32_t>(payload.size());
  link.begin(head, nullptr, payload.data(), nullptr);
  link.step(nobody);
  ASSERT_FALSE(link.is_sent());
  ASSERT_TRUE(link.can_begin(Lane::kBulk));
  FrameHead small = head;
  small.bytes = 0;
  link.begin(small, nullptr, nullptr, nullptr);
  link.step(nobody);
  pollfd second{far[1].get(), POLLIN, 0};
  EXPECT_EQ(::poll(&second, 1, 0), 1);
}

std::string congestion_control(int fd) {
  std::array<char, 32> name{};
  socklen_t bytes = name.size() - 1;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes) == 0 ? name.data() : "";
}

struct Ends {
  std::string connecting, accepted;
};

Ends congestion_controls() {
  const Fd listener = listen_on(resolve("127.0.0.1", 0).front(), 1);
  const Fd connecting = start_connect(local_address(listener.get()));
  pollfd ready{listener.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 5000), 1);
  const Fd accepted = accept_from(listener.get()).fd;
  return {congestion_control(connecting.get()), congestion_control(accepted.get())};
}

// Enters a new network namespace with this default. Returns the reason if that is not possible.
std::string enter_network_with(const std::string& congestion) {
  if (::unshare(CLONE_NEWNET) != 0) return std::strerror(errno);
  const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  if (::ioctl(any.get(), SIOCSIFFLAGS, &loopback) != 0) return std::strerror(errno);
  std::ofstream file("/proc/sys/net/ipv4/tcp_congestion_control");
  file << congestion << std::flush;
  return file ? "" : "this kernel has no " + congestion;
}

TEST(Congestion, BbrIsReplacedBeforeThereIsAConnection) {
  std::string problem;
  Ends ends;
  std::thread([&] {
    problem = enter_network_with("bbr");
    if (problem.empty()) ends = congestion_controls();
  }).join();
  if (!problem.empty()) GTEST_SKIP() << "needs a network namespace with BBR: " << problem;
  EXPECT_TRUE(ends.connecting == "cubic" || ends.connecting == "reno") << ends.connecting;
  EXPECT_EQ(ends.accepted, ends.connecting);
}

// As for rank 0: a program may pass a listener that inherited BBR.
TEST(Congestion, BbrIsReplacedInWhatComesByAListenerOfOthers) {
  std::string problem, accepted;
  std::thread([&] {
    problem = enter_network_with("bbr");
    if (!problem.empty()) return;
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::listen(listener.get(), 1), 0);  // on a free port
    ASSERT_EQ(congestion_control(listener.get()), "bbr");
    const int port = local_address(listener.get()).port();
    const Fd connecting = start_connect(resolve("127.0.0.1", port).front());
    accepted = congestion_control(accept_from(listener.get()).fd.get());
  }).join();
  if (!problem.empty()) GTEST_SKIP() << "needs a network namespace with BBR: " << problem;
  EXPECT_TRUE(accepted == "cubic" || accepted == "reno") << accepted;
}

TEST(Congestion, TheSystemsChoiceStaysOtherwise) {
  std::string problem;
  Ends ends;
  std::thread([&] {
    problem = enter_network_with("reno");
    if (problem.empty()) ends = congestion_controls();
  }).join();
  if (!problem.empty()) GTEST_SKIP() << "needs a network namespace: " << problem;
  EXPECT_EQ(ends.connecting, "reno");
  EXPECT_EQ(ends.accepted, "reno");
}

}  // namespace
}  // namespace dtl::ring::test::tcp_link_test
