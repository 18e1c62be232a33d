#include "launcher/session/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "launcher/report/report.h"
#include "tests/launcher/session_fixture.h"
#include "wire/environments.h"

namespace dtl::session_test {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

TEST_F(SessionTest, RunsAJobAndShowsItsOutput) {
  options_.streams.console.label = LineLabel::parse("[%r] ");
  ranks_do([](const RankSpec& spec, Connection& connection) {
    print(connection, spec.rank, Stream::kStdout, "hello\n");
    exit_with(connection, spec.rank, 0);
  });
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->exit_status, 0);
  EXPECT_THAT(output_, HasSubstr("[0] hello\n"));
  EXPECT_THAT(output_, HasSubstr("[1] hello\n"));
  EXPECT_EQ(errors_, "");
}

TEST_F(SessionTest, TellsRanksWhereRankZeroIsReached) {
  std::map<std::uint32_t, std::vector<std::string>> environment;
  ranks_do([&](const RankSpec& spec, Connection& connection) {
    for (const AddedVariable& added : spec.environment.added) {
      environment[spec.rank].push_back(added.variable);
    }
    exit_with(connection, spec.rank, 0);
  });
  run();
  EXPECT_THAT(environment[1], testing::Contains("MASTER_ADDR=10.0.0.1"));
  EXPECT_THAT(environment[1], testing::Contains("MASTER_PORT=20001"));
  EXPECT_THAT(environment[1], testing::Contains("RANK=1"));
}

// The second agent is not needed: it must end before any rank starts.
TEST_F(SessionTest, TakesTwoNamesOfOneMachineForOneNode) {
  for (auto& [name, agent] : agents_) {
    agent.facts.boot_id = "boot";
    agent.facts.machine_id = "machine";
  }
  std::vector<std::string> story;
  std::map<std::uint32_t, RankSpec> specs;
  Environments environments;
  for (const char* name : {"n1", "n2"}) {
    agents_[name].behaviour = healthy(
        [&, name](const RankSpec& spec, Connection& connection) {
          specs[spec.rank] = spec;
          story.push_back(std::string(name) + " starts a rank");
          exit_with(connection, spec.rank, 0);
        },
        [&, name](const Message& message, Connection&) {
          if (std::holds_alternative<Listen>(message))
            story.push_back(std::string(name) + " listens");
          if (const auto* shared = std::get_if<Environment>(&message)) environments.add(*shared);
          return true;
        });
  }
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->exit_status, 0);
  EXPECT_THAT(story, testing::ElementsAre("n1 listens", "n1 starts a rank", "n1 starts a rank"));
  EXPECT_EQ(specs[1].local_rank, 1u);
  const auto environment = environments.lines(specs[1].environment);
  EXPECT_THAT(environment, testing::Contains("LOCAL_RANK=1"));
  EXPECT_THAT(environment, testing::Contains("LOCAL_WORLD_SIZE=2"));
  EXPECT_THAT(environment, testing::Contains("GROUP_WORLD_SIZE=1"));
  EXPECT_THAT(errors_,
              HasSubstr("dtlaunch: n1 and n2 are the same machine: they count as one node, n1\n"));
  EXPECT_THAT(errors_, Not(HasSubstr("no rank")));
}

TEST_F(SessionTest, PutsTheFailingRanksLastWordsOnTheCard) {
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
  agents_["n2"].behaviour = healthy([](const RankSpec& spec, Connection& connection) {
    print(connection, spec.rank, Stream::kStderr, "cannot open data\n");
    exit_with(connection, spec.rank, 3);
  });
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->exit_status, 3);
  EXPECT_THAT(errors_, HasSubstr("dtlaunch: rank 1 on n2 exited with status 3\n"));
  EXPECT_THAT(errors_, HasSubstr("| cannot open data\n"));
  EXPECT_THAT(errors_, HasSubstr("rank 0 ended by dtlaunch"));
}

TEST_F(SessionTest, ListsEveryBadHostInOrderAndStartsNothing) {
  request_.hosts.emplace_back().name = "n3";
  agents_["n3"] = {{}, "0.0.1", two_cores(), {}};
  unreachable_ = {{"n1", Exit::kAuth}};
  bool started = false;
  ranks_do([&](const RankSpec&, Connection&) { started = true; });
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->exit_status, 77);
  EXPECT_FALSE(started);
  const std::size_t first = errors_.find("dtlaunch: n1: cannot connect: no route. Try: ping\n");
  const std::size_t second = errors_.find("dtlaunch: n3: ");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(first, second);
  EXPECT_THAT(errors_, HasSubstr("it is version 0.0.1"));
  EXPECT_THAT(errors_, Not(HasSubstr("n2")));
}

TEST_F(SessionTest, EndsWith71WhenAnAgentDies) {
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
  agents_["n2"].behaviour = healthy(
      [](const RankSpec&, Connection&) {},
      [](const Message& message, Connection&) { return !std::holds_alternative<Start>(message); });
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->exit_status, 71);
  EXPECT_THAT(errors_, HasSubstr("dtlaunch: n2: the agent failed: killed by SIGKILL"));
  EXPECT_THAT(errors_, HasSubstr("rank 1 lost"));
}

TEST_F(SessionTest, StopsAtItsTimeLimit) {
  request_.ending.timeout = 50ms;
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
  agents_["n2"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(1));
  EXPECT_EQ(run().job.outcome->exit_status, 124);
  EXPECT_THAT(errors_, HasSubstr("time limit"));
}

TEST_F(SessionTest, StopsWhenNobodyReadsItsOutput) {
  out_.read_end.reset();
  agents_["n1"].behaviour =
      healthy([](const RankSpec& spec,
                 Connection& connection) { print(connection, spec.rank, Stream::kStdout, "x\n"); },
              end_when_stopped(0));
  agents_["n2"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(1));
  EXPECT_EQ(run().job.outcome->exit_status, 141);
}

TEST_F(SessionTest, PrintsThePlanInADryRunAndStartsNothing) {
  options_.dry_run = true;
  bool started = false;
  ranks_do([&](const RankSpec&, Connection&) { started = true; });
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_FALSE(started);
  EXPECT_THAT(output_, HasSubstr("n2"));
  EXPECT_THAT(output_, HasSubstr("10.0.0.1"));
}

TEST_F(SessionTest, RefusesMoreRanksThanSlots) {
  request_.placement.ranks_per_node.reset();
  request_.placement.ranks = 9;
  ranks_do([](const RankSpec&, Connection&) {});
  EXPECT_EQ(run().job.outcome->exit_status, 64);
  EXPECT_THAT(errors_, HasSubstr("--oversubscribe"));
}

TEST_F(SessionTest, ForwardsItsInputToRankZeroAndItsEnd) {
  Pipe input = make_pipe();
  options_.input = input.read_end.get();
  write_all(input.write_end.get(), "typed");
  input.write_end.reset();
  std::string seen;
  agents_["n2"].behaviour = healthy([](const RankSpec& spec, Connection& connection) {
    EXPECT_FALSE(spec.wants_stdin);
    exit_with(connection, spec.rank, 0);
  });
  agents_["n1"].behaviour =
      healthy([](const RankSpec& spec, Connection&) { EXPECT_TRUE(spec.wants_stdin); },
              [&](const Message& message, Connection& connection) {
                if (const auto* piece = std::get_if<Stdin>(&message)) {
                  seen += piece->bytes;
                  connection.send(StdinTaken{0, static_cast<std::uint32_t>(piece->bytes.size())});
                  if (piece->end) exit_with(connection, 0, 0);
                }
                return true;
              });
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_EQ(seen, "typed");
}

Behaviour ends_at_once() {
  return healthy(
      [](const RankSpec& spec, Connection& connection) { exit_with(connection, spec.rank, 0); });
}

// n1's rank receives input, reports that it read `read` bytes of it, and ends.
Behaviour reads_input(std::uint64_t read) {
  return healthy([](const RankSpec&, Connection&) {},
                 [read](const Message& message, Connection& connection) {
                   if (!std::holds_alternative<Stdin>(message)) return true;
                   connection.send(StdinClosed{0, read});
                   exit_with(connection, 0, 0);
                   return true;
                 });
}

TEST_F(SessionTest, LeavesInAPipeWhatNoRankHasRead) {
  Pipe input = make_pipe();
  options_.input = input.read_end.get();
  write_all(input.write_end.get(), "one\ntwo\n");
  agents_["n1"].behaviour = reads_input(4);
  agents_["n2"].behaviour = ends_at_once();
  EXPECT_EQ(run().input_bytes, 4U);
  input.write_end.reset();
  EXPECT_EQ(read_all(input.read_end), "two\n");
  EXPECT_THAT(errors_, Not(HasSubstr("standard input")));
}

TEST_F(SessionTest, DoesNotWaitForWhatSomebodyElseHasTakenFromItsPipe) {
  Pipe input = make_pipe();
  options_.input = input.read_end.get();
  write_all(input.write_end.get(), "one\ntwo\n");
  agents_["n1"].behaviour =
      healthy([](const RankSpec&, Connection&) {},
              [&](const Message& message, Connection& connection) {
                if (!std::holds_alternative<Stdin>(message)) return true;
                char taken[8];
                EXPECT_EQ(::read(input.read_end.get(), taken, sizeof taken), 8);
                connection.send(StdinTaken{0, 8});
                connection.send(StdinClosed{0, 8});
                exit_with(connection, 0, 0);
                return true;
              });
  agents_["n2"].behaviour = ends_at_once();
  EXPECT_EQ(run().job.outcome->exit_status, 0);
}

TEST_F(SessionTest, LeavesInASocketWhatNoRankHasRead) {
  SocketPair input = make_socketpair(SOCK_STREAM);
  options_.input = input.first.get();
  write_all(input.second.get(), "one\ntwo\n");
  agents_["n1"].behaviour = reads_input(0);
  agents_["n2"].behaviour = ends_at_once();
  EXPECT_EQ(run().input_bytes, 0U);
  input.second.reset();
  EXPECT_EQ(read_all(input.first), "one\ntwo\n");
}

TEST_F(SessionTest, SetsAFileBackToWhatARankHasRead) {
  const Fd file(::memfd_create("input", MFD_CLOEXEC));
  write_all(file.get(), "one\ntwo\nthree\n");
  Fd input(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
  ::lseek(input.get(), 4, SEEK_SET);  // earlier bytes belong to somebody else
  options_.input = input.get();
  agents_["n1"].behaviour = reads_input(4);
  agents_["n2"].behaviour = ends_at_once();
  EXPECT_EQ(run().input_bytes, 4U);
  EXPECT_EQ(read_all(input), "three\n");
}

TEST_F(SessionTest, LosesNothingOfADevice) {
  const Fd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  options_.input = zeros.get();
  agents_["n1"].behaviour = reads_input(2);
  agents_["n2"].behaviour = ends_at_once();
  EXPECT_EQ(run().lost_input_bytes, 0U);
  EXPECT_THAT(errors_, Not(HasSubstr("standard input")));
}

TEST_F(SessionTest, SaysHowMuchOfItsInputIsLost) {
  Pipe input = make_pipe();
  options_.input = input.read_end.get();
  options_.streams.stdin_for.mode = InputMode::kAll;  // reads ahead
  write_all(input.write_end.get(), "one\ntwo\n");
  agents_["n1"].behaviour = reads_input(2);
  agents_["n2"].behaviour = healthy([](const RankSpec& spec, Connection& connection) {
    connection.send(StdinClosed{spec.rank, 3});
    exit_with(connection, spec.rank, 0);
  });
  EXPECT_EQ(run().lost_input_bytes, 5U);
  EXPECT_THAT(errors_, HasSubstr("5 bytes of standard input were read but not used by any rank"));
}

TEST_F(SessionTest, LosesNothingOfWhatASlowPipeReads) {
  constexpr std::size_t kPieces = 200;
  const std::string piece(60 << 10, 'x');
  ranks_do([&](const RankSpec& spec, Connection& connection) {
    const std::string line = piece + "\n";
    for (std::size_t i = 0; i < kPieces; ++i) print(connection, spec.rank, Stream::kStdout, line);
    exit_with(connection, spec.rank, 0);
  });
  std::size_t bytes = 0;
  {
    std::jthread reader([&] {
      char buffer[65536];
      for (ssize_t n = 0; (n = ::read(out_.read_end.get(), buffer, sizeof buffer)) > 0;) {
        bytes += static_cast<std::size_t>(n);
      }
    });
    run_session(request_, options_);
    out_.write_end.reset();
  }
  EXPECT_EQ(bytes, 2 * kPieces * (piece.size() + 1));
}

TEST_F(SessionTest, ReportsWhoseStatusItIsAndNoSecret) {
  request_.environment.set = {{"HF_TOKEN", "hunter2"}, {"COLOUR", "blue"}};
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
  agents_["n2"].behaviour = healthy(
      [](const RankSpec& spec, Connection& connection) { exit_with(connection, spec.rank, 5); });
  const std::string text = report_json({run(), {}, {}});
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  const auto report = nlohmann::json::parse(text);
  EXPECT_EQ(report["outcome"]["exit_status"], 5);
  EXPECT_EQ(report["outcome"]["by"], "rank");
  EXPECT_EQ(report["outcome"]["rank"], 1);
  EXPECT_EQ(report["outcome"]["host"], "n2");
  EXPECT_EQ(report["ranks"].size(), 2U);
  EXPECT_EQ(report["ranks"][0]["signal"], "SIGTERM");
  EXPECT_EQ(report["plan"]["environment_of_rank_0"]["COLOUR"], "blue");
  EXPECT_TRUE(report["seconds"].contains("running"));
}

}  // namespace
}  // namespace dtl::session_test
