#include "agent/node/probe.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
