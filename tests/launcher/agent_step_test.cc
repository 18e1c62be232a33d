#include "launcher/step/agent_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "base/error.h"
#include "launcher/join/join_caller.h"
#include "wire/messages.h"

namespace dtl::agent_step_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// A shell command for all nodes, or one for each.
class Scripts final : public StepStarter {
 public:
  explicit Scripts(std::vector<std::string> scripts) : scripts_(std::move(scripts)) {}

  std::string program() const override { return "pbs_tmrsh"; }
  std::string scheduler() const override { return "PBS"; }
  StarterCommands commands(const std::vector<std::string>&, int, const std::string&) override {
    ++asked;
    StarterCommands made;
    for (const std::string& script : scripts_) made.commands.push_back({"/bin/sh", "-c", script});
    made.environment = {"PATH=/usr/bin:/bin"};
    return made;
  }
  void all_have_come() override { ++complete; }
  std::string hint(const Host& host) const override { return "see " + host.name; }

  std::atomic<int> asked = 0, complete = 0;

 private:
  const std::vector<std::string> scripts_;
};

Host named(const std::string& name) {
  Host host;
  host.name = name;
  return host;
}

AgentStepOptions two_nodes() {
  AgentStepOptions options;
  options.nodes = {named("h1"), named("h2")};
  options.patience = 20s;
  return options;
}

Error start(AgentStep& step, const Host& host) {
  asio::io_context context;
  Error seen(Exit::kOk, "no error", "");
  asio::co_spawn(
      context,
      [](asio::io_context& run, AgentStep& of, Host where, Error& error) -> awaitable<void> {
        try {
          co_await of.start(run, where);
        } catch (const Error& failed) {
          error = failed;
        }
      }(context, step, host, seen),
      [](std::exception_ptr) {});
  context.run();
  return seen;
}

TEST(AgentStep, TellsHowTheStarterOfThatNodeEndedAndWhatItSaid) {
  AgentStep step(std::make_unique<Scripts>(std::vector<std::string>{
                     "echo 'tm_init: TM_ESYSTEM' >&2; exit 255", "echo 'task 0 exit status 65'"}),
                 two_nodes());
  const Error first = start(step, named("h1"));
  EXPECT_EQ(first.status(), Exit::kOs);
  EXPECT_STREQ(first.what(),
               "h1: cannot start agent: pbs_tmrsh ended: exit status 255, saying \"tm_init: "
               "TM_ESYSTEM\". Try: see h1");
  EXPECT_THAT(start(step, named("h2.cluster")).what(),
              HasSubstr("pbs_tmrsh ended: exit status 0, saying \"task 0 exit status 65\""));
}

TEST(AgentStep, WaitsForANodeWhileItsStarterRunsWhateverBecomesOfOthers) {
  AgentStepOptions options = two_nodes();
  options.patience = 1s;
  AgentStep step(std::make_unique<Scripts>(std::vector<std::string>{"exit 1", "exec sleep 60"}),
                 options);
  const Error late = start(step, named("h2"));
  EXPECT_EQ(late.status(), Exit::kUnreachable);
  EXPECT_THAT(late.what(),
              StartsWith("h2: cannot start agent: pbs_tmrsh has not brought it there"));
}

TEST(AgentStep, SaysThatItIsOverOnceWhatHasStartedAllOfItHasEnded) {
  std::promise<void> over;
  AgentStepOptions options = two_nodes();
  options.over = [&] { over.set_value(); };
  AgentStep step(std::make_unique<Scripts>(std::vector<std::string>{"exit 3"}), options);
  EXPECT_FALSE(step.has(named("h1")));  // has() starts nothing
  std::future<void> told = over.get_future();
  EXPECT_EQ(told.wait_for(0s), std::future_status::timeout);
  EXPECT_THAT(start(step, named("h1")).what(), HasSubstr("exit status 3"));
  EXPECT_EQ(told.wait_for(20s), std::future_status::ready);
  EXPECT_FALSE(step.has(named("h1")));
}

// The second node arrives; the first node's starter fails.
class OneOfTwo final : public StepStarter {
 public:
  std::string program() const override { return "pbs_tmrsh"; }
  std::string scheduler() const override { return "PBS"; }
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override {
    JoinCall call;
    call.token = token;
    call.host = "127.0.0.1";
    call.port = port;
    call.hello = {kProtocol, DTL_VERSION, "9.srv", 0, -1, nodes[1]};
    call.agent_path = "/bin/echo";
    call.patience = 30s;
    node = std::async(std::launch::async, [call] { return serve_joined_job(call); });
    return {{{"/bin/sh", "-c", "exit 255"}, {"/bin/sh", "-c", "exec sleep 60"}}, {}};
  }
  void all_have_come() override { ++complete; }
  std::string hint(const Host&) const override { return {}; }

  std::future<int> node;
  std::atomic<int> complete = 0;
};

TEST(AgentStep, StartsAgentsOnTheNodesThatComeAndTellsThemTheEnd) {
  auto starter = std::make_unique<OneOfTwo>();
  OneOfTwo& nodes = *starter;
  AgentStepOptions options = two_nodes();
  options.job = "9.srv";
  AgentStep step(std::move(starter), options);
  EXPECT_THAT(start(step, named("h1")).what(), HasSubstr("pbs_tmrsh ended: exit status 255"));
  asio::io_context context;
  std::string heard;
  EXPECT_FALSE(step.has(named("h1")));
  auto stream = step.run(context, named("h2"), {"to", "you"});
  asio::co_spawn(
      context,
      [](AgentStream& agent, std::string& answer) -> awaitable<void> {
        for (std::string bytes = co_await agent.read(); !bytes.empty();
             bytes = co_await agent.read()) {
          answer += bytes;
        }
      }(*stream, heard),
      [](std::exception_ptr) {});
  context.run();
  EXPECT_EQ(heard, "to you\n");
  EXPECT_TRUE(step.has(named("h2")));
  EXPECT_EQ(nodes.complete, 1);  // it does not wait for the other
  step.finish(3);
  EXPECT_EQ(nodes.node.get(), 3);
}

TEST(AgentStep, OneStarterForAllIsTheEndOfAll) {
  auto scripts = std::make_unique<Scripts>(std::vector<std::string>{"exit 1"});
  const Scripts& starter = *scripts;
  AgentStep step(std::move(scripts), two_nodes());
  for (const char* host : {"h2", "h1"}) {
    EXPECT_THAT(start(step, named(host)).what(), HasSubstr("pbs_tmrsh ended: exit status 1"));
  }
  EXPECT_EQ(starter.asked, 1);
  EXPECT_EQ(starter.complete, 1);  // it waits for nobody
}

TEST(AgentStep, TakesPlainHostsThatItHasAndTheOthersWhereItIsTheOnlyWay) {
  AgentStepOptions options = two_nodes();
  Host users = named("h1");
  users.user = "bob";
  const AgentStep beside(std::make_unique<Scripts>(std::vector<std::string>{}), options);
  EXPECT_TRUE(beside.takes(named("h2.cluster")));
  EXPECT_FALSE(beside.takes(named("h3")));
  EXPECT_FALSE(beside.takes(users));
  options.only = true;
  AgentStep only(std::make_unique<Scripts>(std::vector<std::string>{}), options);
  EXPECT_TRUE(only.takes(named("h3")));
  EXPECT_THAT(start(only, named("h3")).what(), HasSubstr("h3: cannot start agent: pbs_tmrsh has"));
  EXPECT_THAT(start(only, users).what(),
              HasSubstr("the host has a user, and pbs_tmrsh does not take one"));
}

}  // namespace
}  // namespace dtl::agent_step_test
