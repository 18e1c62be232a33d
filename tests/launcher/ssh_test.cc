#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "tests/launcher/ssh_fixture.h"

namespace dtl::testing::ssh_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class SshAgent : public SshTest {};

TEST_F(SshAgent, SpeaksBothWaysAfterItsMarker) {
  std::string answer;
  run([](SshAgent& test, std::string& said) -> awaitable<void> {
    auto stream = co_await test.start();
    co_await stream->write("hello");
    said = co_await stream->read();
  }(*this, answer));
  EXPECT_EQ(greeting_, std::string("\n") + kMarker);
  EXPECT_EQ(answer, "hello");
}

TEST_F(SshAgent, IsFoundBehindTheNoiseOfALoginShell) {
  must("node2", "echo \"echo Welcome to node2\" >/run/root/.bashrc");
  run([](SshAgent& test) -> awaitable<void> { co_await test.start(); }(*this));
  EXPECT_EQ(greeting_, std::string("Welcome to node2\n\n") + kMarker);
}

TEST_F(SshAgent, IsTakenFromThePathWhereItIsNotAtTheLaunchersPlace) {
  must("node2",
       "mkdir /run/bin; mv /run/agent /run/bin/dtagent; "
       "echo \"PATH=/run/bin:\\$PATH\" >/run/root/.bashrc");
  run([](SshAgent& test) -> awaitable<void> { co_await test.start(); }(*this));
  EXPECT_EQ(greeting_, std::string("\n") + kMarker);
}

TEST_F(SshAgent, MissingOnTheHostIsNamedWithItsPath) {
  must("node2", "rm /run/agent");
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kOs);
  EXPECT_STREQ(error.what(),
               "node2: cannot start agent: there is no dtagent on node2: neither /run/agent nor on "
               "its PATH. Try: dtlaunch --push ..., or install dtlaunch on node2 too");
}

TEST_F(SshAgent, ThatEndsBeforeItsMarkerIsQuoted) {
  must("node2", "printf \"#!/bin/sh\\necho no such luck >&2\\nexit 9\\n\" >/run/agent");
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kOs);
  EXPECT_THAT(error.reason(), EndsWith("exit status 9, saying \"no such luck\""));
}

TEST_F(SshAgent, TellsItsExitStatusAndItsLastWords) {
  make_agent("echo farewell >&2; exit 5");
  std::string ending, words;
  run([](SshAgent& test, std::string& end, std::string& said) -> awaitable<void> {
    auto stream = co_await test.start();
    EXPECT_EQ(co_await stream->read(), "");
    end = stream->ending();
    said = stream->standard_error();
  }(*this, ending, words));
  EXPECT_EQ(ending, "exit status 5");
  EXPECT_EQ(words, "farewell\n");
}

TEST_F(SshAgent, TellsTheSignalThatKilledIt) {
  make_agent("kill -9 $$");
  std::string ending;
  run([](SshAgent& test, std::string& end) -> awaitable<void> {
    auto stream = co_await test.start();
    EXPECT_EQ(co_await stream->read(), "");
    end = stream->ending();
  }(*this, ending));
  EXPECT_EQ(ending, "killed by SIGKILL");
}

TEST_F(SshAgent, WhoseConnectionBreaksIsAnError) {
  make_agent("echo $PPID >/run/server.pid; exec cat");
  std::string ending;
  EXPECT_THROW(run([](SshAgent& test, std::string& end) -> awaitable<void> {
                 auto stream = co_await test.start();
                 test.must("node2", "kill -9 $(cat /run/server.pid)");
                 try {
                   co_await stream->read();
                 } catch (const Error&) {
                   end = stream->ending();
                   throw;
                 }
               }(*this, ending)),
               Error);
  EXPECT_EQ(ending, "connection lost");
}

TEST_F(SshAgent, SpeaksFastlyBothWaysAtOnce) {
  static constexpr std::size_t kBytes = 64 << 20;
  std::size_t received = 0;
  bool same = true;
  const auto send = [](AgentStream& stream) -> awaitable<void> {
    std::string piece(1 << 20, '\0');
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<char>(i % 251);
    for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) co_await stream.write(piece);
  };
  run([](SshAgent& test, auto sender, std::size_t& count, bool& equal) -> awaitable<void> {
    auto stream = co_await test.start();
    asio::co_spawn(test.context_, sender(*stream),
                   [](std::exception_ptr failed) { EXPECT_FALSE(failed) << "writing failed"; });
    while (count < kBytes) {
      const std::string bytes = co_await stream->read();
      if (bytes.empty()) break;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        equal &= bytes[i] == static_cast<char>((count + i) % (1 << 20) % 251);
      }
      count += bytes.size();
    }
  }(*this, send, received, same));
  EXPECT_EQ(received, kBytes);
  EXPECT_TRUE(same);
}

TEST_F(SshAgent, IsGoneWhenItsStreamIsClosedHalfWay) {
  make_agent("echo $$ >/run/agent.pid; exec cat");
  std::string last = "something";
  bool write_failed = false;
  run([](SshAgent& test, std::string& bytes, bool& failed) -> awaitable<void> {
    auto stream = co_await test.start();
    asio::steady_timer soon(test.context_, 20ms);
    soon.async_wait([&](boost::system::error_code) { stream->close(); });
    bytes = co_await stream->read();
    try {
      co_await stream->write("too late");
    } catch (const Error&) {
      failed = true;
    }
    stream->close();
  }(*this, last, write_failed));
  EXPECT_EQ(last, "");
  EXPECT_TRUE(write_failed);
  must("node2",
       "pid=$(cat /run/agent.pid); for i in $(seq 500); do "
       "[ -d /proc/$pid ] || exit 0; sleep 0.01; done; exit 1");
}

// Its earlier output is unread, so libssh does not report the channel as closed yet. Its end of
// file comes long before its exit status.
TEST_F(SshAgent, ThatEndsWhileItIsWrittenToIsNotTakenForUnreachable) {
  make_agent("head -c 100000 /dev/zero; exec >&- 2>&-; sleep 0.3; exit 3");
  Exit status = Exit::kOk;
  std::size_t unread = 0;
  run([](SshAgent& test, Exit& why, std::size_t& left) -> awaitable<void> {
    auto stream = co_await test.start();
    try {
      for (std::size_t sent = 0; sent < 64 << 20; sent += 1 << 15) {
        co_await stream->write(std::string(1 << 15, 'x'));
      }
    } catch (const Error& error) {
      why = error.status();
    }
    for (std::string bytes = "?"; !bytes.empty(); left += bytes.size()) {
      bytes = co_await stream->read();
    }
  }(*this, status, unread));
  EXPECT_EQ(status, Exit::kIo);
  EXPECT_GT(unread, 0u);
}

TEST_F(SshAgent, StartsFourTimesAtOnce) {
  int started = 0;
  run([](SshAgent& test, int& count) -> awaitable<void> {
    for (int i = 0; i < 4; ++i) {
      asio::co_spawn(test.context_, start_ssh_agent(test.context_, test.node2_, test.options_),
                     [&count](std::exception_ptr failed, std::unique_ptr<AgentStream> stream) {
                       if (!failed && stream) ++count;
                     });
    }
    co_return;
  }(*this, started));
  EXPECT_EQ(started, 4);
}

class JumpHost : public SshTest {
 public:
  JumpHost() : SshTest("3") {}
};

TEST_F(JumpHost, OfTheUsersConfigurationIsWhereTheConnectionComesFrom) {
  write_file_atomically("/run/root/.ssh/config", "Host node2\n  ProxyJump node3\n");
  make_agent("echo $SSH_CONNECTION; exec cat");
  std::string connection;
  run([](JumpHost& test, std::string& said) -> awaitable<void> {
    auto stream = co_await test.start();
    said = test.greeting_.substr(test.greeting_.find(kMarker) + std::string(kMarker).size());
    if (said.empty()) said = co_await stream->read();
  }(*this, connection));
  EXPECT_THAT(connection, StartsWith("10.77.0.3 "));
}

class SlowLink : public SshTest {
 protected:
  SlowLink() : SshTest("2 --rate 1mbit") {}
};

TEST_F(SlowLink, DoesNotStopTheLoop) {
  auto longest = 0ms;
  bool ended = false;
  options_.deadline = 30s;
  run([](SlowLink& test, auto& gap, bool& over) -> awaitable<void> {
    auto stream = co_await test.start();
    asio::co_spawn(
        test.context_,
        [](AgentStream& target) -> awaitable<void> {
          co_await target.write(std::string(16 << 20, 'x'));
        }(*stream),
        [&](std::exception_ptr) { over = true; });
    asio::steady_timer tick(test.context_);
    for (int i = 0; i < 150; ++i) {
      const auto before = std::chrono::steady_clock::now();
      tick.expires_at(before + 10ms);
      co_await tick.async_wait(asio::use_awaitable);
      gap = std::max(gap, std::chrono::duration_cast<std::chrono::milliseconds>(
                              std::chrono::steady_clock::now() - before));
    }
    EXPECT_FALSE(over) << "the link is not slow";
    stream->close();
    while (!over) co_await asio::post(test.context_, asio::use_awaitable);
  }(*this, longest, ended));
  EXPECT_LT(longest, 1000ms);
}

}  // namespace
}  // namespace dtl::testing::ssh_test
