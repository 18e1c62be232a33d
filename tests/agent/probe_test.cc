#include "agent/node/probe.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "agent_driver.h"

namespace dtl::probe_test {
namespace {

TEST(Ports, MasterPortLiesOutsideTheEphemeralRangeAndIsFree) {
  const auto [low, high] = ephemeral_range();
  const BoundPort bound = bind_master_port();
  EXPECT_TRUE(bound.port < low || bound.port > high) << bound.port;
  EXPECT_TRUE(bound.v4.valid());
}

TEST(Probe, AgentReachesItsOwnListenerAndSaysHow) {
  AgentDriver agent;
  agent.send(Listen{7});
  const Listening listening = agent.expect<Listening>();
  EXPECT_GT(listening.probe_port, 0u);
  EXPECT_GT(listening.master_port, 0u);
  Reach reach;
  reach.endpoints.push_back({"127.0.0.1", listening.probe_port, 7});
  reach.endpoints.push_back({"no address", 1, 8});
  reach.endpoints.push_back({"127.0.0.1", listening.probe_port, 8});
  agent.send(reach);
  const Reached reached = agent.expect<Reached>();
  ASSERT_EQ(reached.attempts.size(), 3u);
  EXPECT_TRUE(reached.attempts[0].reached) << reached.attempts[0].problem;
  EXPECT_EQ(reached.attempts[0].local_address, "127.0.0.1");
  EXPECT_EQ(reached.attempts[0].local_interface, "lo");
  EXPECT_EQ(reached.attempts[1].problem, "not a numeric address");
  EXPECT_EQ(reached.attempts[2].problem, "another node answered");
  reach.payload_bytes = 300000;
  agent.send(reach);
  EXPECT_TRUE(agent.expect<Reached>().attempts[0].reached);
  reach.payload_bytes = 0;
  agent.send(StopListening{});
  agent.send(reach);
  const Reached closed = agent.expect<Reached>();
  EXPECT_FALSE(closed.attempts[0].reached);
  EXPECT_EQ(closed.attempts[0].problem, "Connection refused");
  EXPECT_EQ(agent.finish(), 0);
}

// Node 0 of a large job: it tries all others while all others call it, and each takes a descriptor.
TEST(Probe, AgentWithFewDescriptorsTriesAllAndGoesOnListening) {
  AgentDriver agent;
  agent.send(Listen{7});
  const Listening listening = agent.expect<Listening>();
  const auto folder = "/proc/" + std::to_string(agent.agent()) + "/fd";
  const auto open = std::distance(std::filesystem::directory_iterator(folder), {});
  rlimit limit{};
  ASSERT_EQ(::prlimit(agent.agent(), RLIMIT_NOFILE, nullptr, &limit), 0);
  limit.rlim_cur = static_cast<rlim_t>(open) + 8;
  ASSERT_EQ(::prlimit(agent.agent(), RLIMIT_NOFILE, &limit, nullptr), 0);
  // Callers that say nothing hold what is left.
  std::vector<Fd> callers;
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<std::uint16_t>(listening.probe_port));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(
        ::connect(callers.back().get(), reinterpret_cast<const sockaddr*>(&there), sizeof there),
        0);
  }
  agent.pump([] { return false; }, std::chrono::milliseconds(300));
  callers.clear();
  agent.pump([] { return false; }, std::chrono::milliseconds(300));
  Reach reach;
  for (int i = 0; i < 40; ++i) reach.endpoints.push_back({"127.0.0.1", listening.probe_port, 7});
  agent.send(reach);
  const Reached reached = agent.expect<Reached>();
  ASSERT_EQ(reached.attempts.size(), 40U);
  for (const Attempt& attempt : reached.attempts) EXPECT_EQ(attempt.problem, "");
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Probe, ListensWithinTheRangeThatItIsGiven) {
  AgentDriver agent;
  agent.send(Listen{0, 26000, 26009});
  const Listening listening = agent.expect<Listening>();
  for (const std::uint32_t port : {listening.probe_port, listening.master_port}) {
    EXPECT_GE(port, 26000u);
    EXPECT_LE(port, 26009u);
  }
  EXPECT_NE(listening.probe_port, listening.master_port);
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Probe, AnotherProgramIsNotTakenForTheListener) {
  AgentDriver agent;
  const BoundPort port = bind_any_port();
  Reach reach;
  reach.endpoints.push_back({"127.0.0.1", port.port, 0});
  agent.send(reach);
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  Fd connection;
  agent.pump(
      [&] {
        connection = Fd(::accept(port.v4.get(), reinterpret_cast<sockaddr*>(&peer), &size));
        return connection.valid();
      },
      AgentDriver::kPatience);
  write_all(connection.get(), "SSH-2.0-OpenSSH_9.2p1 and a long enough line\r\n");
  const Reached reached = agent.expect<Reached>();
  EXPECT_FALSE(reached.attempts[0].reached);
  EXPECT_EQ(reached.attempts[0].problem, "another program answered");
}

}  // namespace
}  // namespace dtl::probe_test
