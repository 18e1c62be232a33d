#pragma once
// Tests of start_ssh_agent: this program is on node1, the agent starts on node2. The agent is a
// script, /run/agent, that prints the marker line and then does what the test wants.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "tests/support/test_cluster.h"

namespace dtl::testing {

constexpr const char* kMarker = "DTLAUNCH-AGENT 2 0.1.0 0123456789abcdef0123456789abcdef\n";

class SshTest : public ::testing::Test {
 public:  // used by the tests' coroutines
  explicit SshTest(const std::string& up_arguments = "2") : cluster_(up_arguments) {}
  void SetUp() override;

  // What the script does after its marker line, in shell.
  void make_agent(const std::string& script);
  void must(const std::string& host, const std::string& command);

  // Runs `task` to its end on the test's io_context.
  void run(asio::awaitable<void> task);
  // The agent's stream after its greeting; throws what the start throws.
  awaitable<std::unique_ptr<AgentStream>> start();
  // Starts the agent, expects that to fail, and returns the error.
  Error failure();

  TestCluster cluster_;
  asio::io_context context_;
  Host node2_{.name = "node2", .user = "", .port = 0, .slots = {}, .where = ""};
  StartOptions options_{.agent_path = "/run/agent"};
  std::string greeting_;  // result of the agent's first read()
};

// The next `size` bytes, or fewer at the end of the stream.
awaitable<std::string> read_bytes(AgentStream& stream, std::size_t size);

}  // namespace dtl::testing
