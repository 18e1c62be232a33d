#include "launcher/agents/agent_start.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/text.h"
#include "launcher/agents/carried_agent.h"
#include "launcher/agents/early_agent.h"
#include "launcher/ssh/known_hosts.h"
#include "wire/connect/tcp_connect.h"
#include "wire/greeting.h"

namespace dtl::agent_start_test {
namespace {

using asio::ip::tcp;

class LocalAgent : public ::testing::Test {
 protected:
  LocalAgent() {
    std::string pattern = std::filesystem::temp_directory_path() / "dtl-start-test.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~LocalAgent() override { std::filesystem::remove_all(folder_); }

 public:
  void make_agent(const std::string& script) {
    options_.agent_path = folder_ + "/agent";
    write_file_atomically(options_.agent_path, "#!/bin/sh\n" + script + "\n");
    ::chmod(options_.agent_path.c_str(), 0755);
  }
  void run(awaitable<void> task) {
    std::exception_ptr failure;
    asio::co_spawn(context_, std::move(task), [&](std::exception_ptr error) { failure = error; });
    context_.run();
    if (failure) std::rethrow_exception(failure);
  }

  std::string folder_;
  asio::io_context context_;
  StartOptions options_;
};

TEST_F(LocalAgent, SpeaksBothWays) {
  make_agent("exec cat");
  std::string answer;
  run([](LocalAgent& test, std::string& said) -> awaitable<void> {
    auto stream = co_await start_local_agent(test.context_, test.options_);
    co_await stream->write("hello");
    said = co_await stream->read();
  }(*this, answer));
  EXPECT_EQ(answer, "hello");
}

TEST_F(LocalAgent, TellsItsEndAndItsLastWords) {
  make_agent("echo farewell >&2; exit 5");
  std::string ending, words;
  run([](LocalAgent& test, std::string& end, std::string& said) -> awaitable<void> {
    auto stream = co_await start_local_agent(test.context_, test.options_);
    EXPECT_EQ(co_await stream->read(), "");
    end = stream->ending();
    said = stream->standard_error();
  }(*this, ending, words));
  EXPECT_EQ(ending, "exit status 5");
  EXPECT_EQ(words, "farewell\n");
}

TEST_F(LocalAgent, MissingIsAnErrorWithItsPath) {
  options_.agent_path = folder_ + "/nothing";
  try {
    run([](LocalAgent& test) -> awaitable<void> {
      co_await start_local_agent(test.context_, test.options_);
    }(*this));
    ADD_FAILURE() << "it started";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kOs);
    EXPECT_EQ(std::string(error.what()),
              "cannot start " + options_.agent_path + ": No such file or directory");
  }
}

TEST_F(LocalAgent, StartedEarlyIsTakenOnce) {
  make_agent("echo $$ >>" + folder_ + "/pids; exec cat");
  options_.early = std::make_shared<EarlyAgent>();
  start_agent_early(options_);
  std::string answers;
  run([](LocalAgent& test, std::string& said) -> awaitable<void> {
    for (const char* text : {"first", "second"}) {
      auto stream = co_await start_local_agent(test.context_, test.options_);
      co_await stream->write(text);
      said += co_await stream->read() + ' ';
    }
  }(*this, answers));
  EXPECT_EQ(answers, "first second ");
  const std::string pids = read_file(folder_ + "/pids", 4096);
  EXPECT_EQ(std::count(pids.begin(), pids.end(), '\n'), 2) << pids;
}

TEST_F(LocalAgent, StartedEarlyAndNotTakenEndsFirst) {
  make_agent("cat; touch " + folder_ + "/ended");
  options_.early = std::make_shared<EarlyAgent>();
  start_agent_early(options_);
  options_.early.reset();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/ended"));
}

TEST_F(LocalAgent, ThatCannotStartEarlyIsReportedLater) {
  options_.agent_path = folder_ + "/nothing";
  options_.early = std::make_shared<EarlyAgent>();
  EXPECT_NO_THROW(start_agent_early(options_));
  EXPECT_THROW(run([](LocalAgent& test) -> awaitable<void> {
                 co_await start_local_agent(test.context_, test.options_);
               }(*this)),
               Error);
}

// A fake scheduler command that copies a program to a host: it prints its arguments and runs the
// program.
class CarriedAgent : public LocalAgent {
 protected:
  void make_carrier(const std::string& script) {
    const std::string path = folder_ + "/carrier";
    write_file_atomically(path, "#!/bin/sh\n" + script + "\n");
    ::chmod(path.c_str(), 0755);
    options_.carrier = {path, "-inherit"};
  }
  std::string error_of(Host host) {
    context_.restart();
    try {
      run([](LocalAgent& test, Host there) -> awaitable<void> {
        co_await start_carried_agent(test.context_, std::move(there), test.options_);
      }(*this, std::move(host)));
    } catch (const Error& error) {
      return error.what();
    }
    return "it started";
  }
  static Host host(const std::string& name) {
    Host there;
    there.name = name;
    return there;
  }
};

TEST_F(CarriedAgent, SpeaksThroughTheCommandThatBringsItThere) {
  const std::string marker = to_line({1, "1.0", std::string(32, 'a')});
  write_file_atomically(folder_ + "/marker", marker);
  make_agent("cat " + folder_ + "/marker; exec cat");
  make_carrier("echo \"$@\" >" + folder_ + "/called; shift 2; echo welcome; exec \"$@\"");
  std::string answer;
  run([](CarriedAgent& test, Host there, std::string& said) -> awaitable<void> {
    auto stream = co_await start_carried_agent(test.context_, std::move(there), test.options_);
    said = co_await stream->read();
    co_await stream->write("hello");
    said += co_await stream->read();
  }(*this, host("far"), answer));
  EXPECT_EQ(answer, "welcome\n" + marker + "hello");
  EXPECT_EQ(read_file(folder_ + "/called", 4096),
            "-inherit far " + options_.agent_path + " --serve\n");
}

TEST_F(CarriedAgent, NamesTheHostAndWhatTheCommandSaid) {
  make_agent("exec cat");
  make_carrier("echo no such queue >&2; exit 9");
  EXPECT_EQ(error_of(host("far")), "far: cannot start agent: " + join(options_.carrier, " ") +
                                       " ended: exit status 9, saying \"no such queue\". Try: " +
                                       join(options_.carrier, " ") + " far " + options_.agent_path +
                                       " --version");
  options_.carrier = {"no-such-carrier"};
  EXPECT_THAT(error_of(host("far")), testing::HasSubstr("no-such-carrier is not on PATH"));
  Host with_user = host("far");
  with_user.user = "al";
  EXPECT_THAT(error_of(with_user), testing::HasSubstr("the host has a user"));
}

// A command that hangs is killed, or it would outlive the job.
TEST_F(CarriedAgent, IsEndedWhenItIsLate) {
  make_agent("exec cat");
  make_carrier("echo $$ >" + folder_ + "/pid.new; mv " + folder_ + "/pid.new " + folder_ +
               "/pid; trap 'exit 0' TERM; while :; do sleep 0.05; done");
  options_.deadline = std::chrono::milliseconds(1500);
  EXPECT_THAT(error_of(host("far")), testing::HasSubstr("not brought it there in time"));
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const int pid = std::stoi(read_file(folder_ + "/pid", 64));
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0 && std::chrono::steady_clock::now() < give_up) {
    ::usleep(10'000);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(LocalAgent, FirstAddressThatAnswersWins) {
  tcp::acceptor open(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::acceptor closed(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::vector<tcp::endpoint> endpoints(1, closed.local_endpoint());
  endpoints.push_back(open.local_endpoint());
  closed.close();
  run([](LocalAgent& test, std::vector<tcp::endpoint> both) -> awaitable<void> {
    const Fd fd = co_await connect_first(
        test.context_, both, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    EXPECT_TRUE(fd.valid());
  }(*this, endpoints));
}

TEST(LocalHost, IsWhatNeedsNoSsh) {
  const auto local = [](const std::string& name) {
    Host host;
    host.name = name;
    return is_local(host);
  };
  EXPECT_TRUE(local("localhost"));
  EXPECT_TRUE(local("127.0.0.9"));
  EXPECT_TRUE(local("::1"));
  EXPECT_FALSE(local("node1"));
  EXPECT_FALSE(local("10.0.0.1"));
  Host own;
  own.name = "node1";
  own.here = true;
  EXPECT_TRUE(is_local(own));
}

TEST(KnownHosts, KeepsMarkersAndLineNumbers) {
  const auto lines = split_known_hosts("# a\n\nhost key\n@revoked  * key\n@new x\n", "f");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].where, "f:3");
  EXPECT_EQ(lines[1].marker, KnownHostsMarker::kRevoked);
  EXPECT_EQ(lines[1].hosts, "*");
  EXPECT_EQ(lines[1].key, "key");
  EXPECT_EQ(lines[2].marker, KnownHostsMarker::kUnknown);
}

TEST(KnownHosts, APatternWithAnExclamationMarkTakesAHostOut) {
  EXPECT_TRUE(match_host_patterns("*,!node2", "node1"));
  EXPECT_FALSE(match_host_patterns("*,!node2", "node2"));
  EXPECT_FALSE(match_host_patterns("!node2,*", "NODE2"));
  EXPECT_FALSE(match_host_patterns("node2,!n?de*", "node2"));
  EXPECT_FALSE(match_host_patterns("!node3", "node2"));
  EXPECT_TRUE(match_host_patterns("Node[2],*.LAN,node2", "node2"));
  EXPECT_TRUE(match_host_patterns("[node2]:2222", "[node2]:2222"));
  EXPECT_FALSE(match_host_patterns("node2", "[node2]:2222"));
  EXPECT_TRUE(match_host_patterns("a*b*c,", "axxbyyc"));
  EXPECT_FALSE(match_host_patterns("a*b*c", "axxbyy"));
  EXPECT_TRUE(match_host_patterns("n**", "n"));
  EXPECT_FALSE(match_host_patterns("node2," + std::string(1023, 'x'), "node2"));
  EXPECT_TRUE(match_host_patterns("node2," + std::string(1022, 'x'), "node2"));
}

TEST(KnownHosts, ARevokedKeyIsRevokedThoughAnotherLineKnowsIt) {
  std::vector<KnownKey> known(2);
  known[0].fingerprint = known[1].fingerprint = "A";
  known[1].marker = KnownHostsMarker::kRevoked;
  EXPECT_EQ(judge_host_key(known, "t", "A").state, HostKeyState::kRevoked);
}

TEST(KnownHosts, OneOfSeveralKeysIsEnough) {
  std::vector<KnownKey> known(2);
  known[0].fingerprint = "A";
  known[1].fingerprint = "B";
  known[0].type = known[1].type = "t";
  EXPECT_EQ(judge_host_key(known, "t", "B").state, HostKeyState::kKnown);
  EXPECT_EQ(judge_host_key(known, "t", "C").state, HostKeyState::kChanged);
}

}  // namespace
}  // namespace dtl::agent_start_test
