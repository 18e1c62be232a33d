// No text from an agent reaches a terminal unescaped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "base/log.h"
#include "launcher/report/report.h"
#include "tests/launcher/session_fixture.h"
#include "tests/wire/examples.h"
#include "tests/wire/hostile_text.h"

namespace dtl::foreign_text_test {
namespace {

using namespace testing_support;
using testing::HasSubstr;

class ForeignText : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    set_log_level(LogLevel::kVerbose);
  }
  void TearDown() override { set_log_level(LogLevel::kNormal); }

  void start_anew() {
    out_ = make_pipe();
    err_ = make_pipe();
    options_.output = out_.write_end.get();
    options_.errors = err_.write_end.get();
  }

  void expect_harmless(const std::string& what) {
    EXPECT_FALSE(is_hostile(errors_)) << what << ": " << errors_;
    EXPECT_FALSE(is_hostile(output_)) << what << ": " << output_;
  }
};

// Whether `message` answers the launcher's message `order`.
bool answers(const Message& order, const Message& message) {
  if (std::holds_alternative<Listening>(message)) return std::holds_alternative<Listen>(order);
  if (std::holds_alternative<Reached>(message)) return std::holds_alternative<Reach>(order);
  if (std::holds_alternative<CoresClaimed>(message)) {
    return std::holds_alternative<ClaimCores>(order);
  }
  return std::holds_alternative<Start>(order);
}

TEST_F(ForeignText, IsHarmlessInEveryMessage) {
  const Behaviour good = healthy(
      [](const RankSpec& spec, Connection& connection) { exit_with(connection, spec.rank, 3); });
  for (const auto& [name, example] : example_messages()) {
    const Message message = hostile(example, 1);
    agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
    agents_["n2"].facts = two_cores();
    if (const auto* hello = std::get_if<Hello>(&message)) agents_["n2"].facts = hello->facts;
    agents_["n2"].behaviour = [&](const Message& order, Connection& connection) {
      if (answers(order, message)) connection.send(message);
      return good(order, connection);
    };
    start_anew();
    const SessionResult result = run();
    expect_harmless(name);
    EXPECT_FALSE(is_hostile(report_json({result, {}, {}}))) << name;
  }
}

TEST_F(ForeignText, IsHarmlessInGreetingsAndStartUpNoise) {
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {});
  agents_["n2"].version = "0.1\x1b[2J\x07\x9b\xe2\x80\xae\rforged";
  agents_["n2"].noise = kHostileText;
  run();
  expect_harmless("greeting");
  EXPECT_THAT(errors_, HasSubstr("it is version 0.1\\x1b[2J\\x07\\x9b\\u202e\\rforged"));
}

// A start-up file prints a line that looks like a greeting, before dtagent's own.
TEST_F(ForeignText, ThatLooksLikeAGreetingPointsAtStartUpFiles) {
  ranks_do([](const RankSpec&, Connection&) {});
  agents_["n2"].noise = to_line({kProtocol, DTL_VERSION, std::string(32, '0')});
  request_.hosts[1].user = "ann";
  EXPECT_EQ(run().job.outcome->exit_status, 76);
  EXPECT_THAT(errors_,
              HasSubstr("dtlaunch: n2: cannot use its dtagent: malformed frame message: length"));
  EXPECT_THAT(errors_, HasSubstr("start-up file"));
  EXPECT_THAT(errors_, HasSubstr("Try: ssh -l ann n2 true"));
}

TEST_F(ForeignText, IsHarmlessInARanksErrorFile) {
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
  agents_["n2"].behaviour = healthy([](const RankSpec& spec, Connection& connection) {
    nlohmann::json file;
    file["message"] = "a\x1b[2J\x07\r\xc2\x9b \xe2\x80\xae";
    connection.send(Evidence{spec.rank, 0, 0, file.dump()});
    exit_with(connection, spec.rank, 3);
  });
  run();
  expect_harmless("error file");
  EXPECT_THAT(errors_, HasSubstr("\\u009b \\u202e"));
}

TEST_F(ForeignText, IsHarmlessInWhatARankSaysItDoes) {
  // Answer when the job ends, even if the agent learns late that it began.
  const auto tell_when_stopped = [](const Stack& stack) -> Behaviour {
    return [=](const Message& message, Connection& connection) {
      if (std::holds_alternative<Stop>(message)) connection.send(stack);
      return end_when_stopped(stack.rank)(message, connection);
    };
  };
  const std::string text =
      "Current thread 0x1 (most recent call first):\n  File \"\x1b[2J.py\", "
      "line 3 in a\x07\r\xc2\x9b \xe2\x80\xae\n";
  int started = 0;
  const auto start = [&](const RankSpec&, Connection&) { ++started; };
  agents_["n1"].behaviour = healthy(start, tell_when_stopped({0, StackAnswer::kTold, text}));
  agents_["n2"].behaviour =
      healthy(start, tell_when_stopped({1, StackAnswer::kCannot, "python\x1b[2J"}));
  // The limit counts from the job's start, and ranks can only be asked once they run.
  for (auto limit = 50ms; started < 2; limit *= 4) {
    started = 0;
    request_.ending.timeout = limit;
    EXPECT_EQ(run().job.outcome->exit_status, 124);
  }
  expect_harmless("stack");
  EXPECT_THAT(errors_, HasSubstr("File \"\\x1b[2J.py\", line 3, in a\\x07\\r\\u009b \\u202e"));
  EXPECT_THAT(errors_, HasSubstr("rank 1 (python\\x1b[2J), without dtring"));
}

}  // namespace
}  // namespace dtl::foreign_text_test
