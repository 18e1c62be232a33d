#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "launcher/ssh/login_connect.h"
#include "launcher/ssh/stream.h"
#include "tests/launcher/ssh_fixture.h"

namespace dtl::testing::ssh_refusal_test {
namespace {

using asio::ip::tcp;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr const char* kKnownHosts = "/run/root/.ssh/known_hosts";
constexpr const char* kOtherKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

class HostKey : public SshTest {
 public:
  // node2's line without hostnames: "ssh-ed25519 AAAA...".
  std::string true_key() {
    const std::string all = read_file(kKnownHosts, 1 << 20);
    const std::size_t at = all.find(' ', all.find("\nnode2,") + 1) + 1;
    return all.substr(at, all.find('\n', at) - at);
  }
  void write_known_hosts(const std::string& text) { write_file_atomically(kKnownHosts, text); }
  void expect_refused(const std::string& reason) {
    const Error error = failure();
    EXPECT_EQ(error.status(), Exit::kAuth) << error.what();
    EXPECT_THAT(error.what(), StartsWith("node2: cannot start agent: "));
    EXPECT_THAT(error.reason(), HasSubstr(reason));
  }
  void expect_accepted() {
    run([](SshTest& test) -> awaitable<void> { co_await test.start(); }(*this));
  }
};

TEST_F(HostKey, UnknownIsRefused) {
  write_known_hosts("");
  expect_refused("unknown host key SHA256:");
}

TEST_F(HostKey, UnknownIsNotedWhenNewOnesAreAccepted) {
  write_known_hosts("");
  options_.trust.accept_new_host_keys = true;
  expect_accepted();
  EXPECT_THAT(read_file(kKnownHosts, 1 << 20), HasSubstr("node2 ssh-ed25519 "));
}

// Hashed lines cost each host that reads them, so the file is read once for all hosts of a job.
TEST_F(HostKey, ReadsTheFileOnceForAllHosts) {
  const Fd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(watch.get(), kKnownHosts, IN_OPEN), 0);
  for (int host = 0; host < 3; ++host) expect_accepted();
  alignas(inotify_event) std::array<char, 4096> events;
  const ssize_t bytes = ::read(watch.get(), events.data(), events.size());
  EXPECT_EQ(bytes, static_cast<ssize_t>(sizeof(inotify_event)));
}

TEST_F(HostKey, ChangedIsRefusedWithFileLineAndBothFingerprints) {
  write_known_hosts(fmt::format("# mine\nnode2 {}\n", kOtherKey));
  options_.trust.accept_new_host_keys = true;
  expect_refused("but /run/root/.ssh/known_hosts:2 says SHA256:");
}

TEST_F(HostKey, ChangedIsRefusedWhateverTheConfigurationSays) {
  write_known_hosts(fmt::format("node2 {}\n", kOtherKey));
  write_file_atomically("/run/root/.ssh/config", "Host *\n  StrictHostKeyChecking no\n");
  expect_refused("CHANGED");
}

TEST_F(HostKey, RevokedIsRefusedThoughItIsKnownToo) {
  const std::string key = true_key();
  write_known_hosts(fmt::format("node2 {}\n@revoked * {}\n", key, key));
  expect_refused("is revoked by /run/root/.ssh/known_hosts:2");
}

TEST_F(HostKey, OfAnotherTypeThanTheKnownOneIsRefused) {
  must("node1",
       "ssh-keygen -q -t ecdsa -N \"\" -f /run/other && "
       "echo \"node2 $(cat /run/other.pub)\" >/run/root/.ssh/known_hosts");
  options_.trust.accept_new_host_keys = true;
  expect_refused("of another type");
}

TEST_F(HostKey, OnAnUnreadableLineIsNotTakenForUnknown) {
  write_known_hosts("node2 ssh-ed25519 not!base64\n");
  options_.trust.accept_new_host_keys = true;
  expect_refused("known_hosts:1 is about this host but cannot be read");
}

TEST_F(HostKey, CertifiedIsExplained) {
  write_known_hosts(fmt::format("@cert-authority * {}\n", kOtherKey));
  expect_refused("host certificates");
}

TEST_F(HostKey, HashedIsFound) {
  must("node1", "ssh-keygen -q -H -f /run/root/.ssh/known_hosts");
  expect_accepted();
}

class Login : public SshTest {};

TEST_F(Login, RefusedKeyIsNamed) {
  must("node2", "echo >/run/root/.ssh/authorized_keys");
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kAuth);
  EXPECT_STREQ(error.what(),
               "node2: cannot start agent: Permission denied (publickey): tried "
               "/run/root/.ssh/id_ed25519. Try: ssh node2 true");
}

TEST_F(Login, KeyThatOthersMayReadIsNotUsed) {
  must("node1", "chmod 644 /run/root/.ssh/id_ed25519");
  EXPECT_THAT(failure().reason(), HasSubstr("id_ed25519 (others may read it)"));
}

// As a mounted Secret: Kubernetes chooses its mode, but nobody writes there.
TEST_F(Login, MountedKeyThatOthersMayWriteIsNotUsed) {
  must("node1", "mkdir /run/keys && cp /run/root/.ssh/id_ed25519 /run/keys/id_rsa");
  must("node1", "rm /run/root/.ssh/id_ed25519; chmod 666 /run/keys/id_rsa");
  must("node1", "grep ^node2 /run/root/.ssh/known_hosts | cut -d ' ' -f 2- >/run/keys/id_rsa.pub");
  node2_.port = 22;
  options_.trust.pod_keys = "/run/keys";
  EXPECT_THAT(failure().reason(), HasSubstr("/run/keys/id_rsa (others may write it)"));
  must("node1", "chmod 644 /run/keys/id_rsa");
  run([](SshTest& test) -> awaitable<void> { co_await test.start(); }(*this));
}

TEST_F(Login, KeyWithPassphraseAsksForNothing) {
  must("node1", "ssh-keygen -q -p -N secret -f /run/root/.ssh/id_ed25519");
  const Error error = failure();
  EXPECT_THAT(error.reason(), HasSubstr("id_ed25519 (needs a passphrase)"));
  EXPECT_EQ(error.hint(), "ssh-add /run/root/.ssh/id_ed25519");
}

TEST_F(Login, UsesKeysOfTheAgent) {
  must("node1",
       "eval $(ssh-agent -a /run/agent.socket) >/dev/null && "
       "ssh-add -q /run/root/.ssh/id_ed25519 && rm /run/root/.ssh/id_ed25519");
  ::setenv("SSH_AUTH_SOCK", "/run/agent.socket", 1);
  run([](SshTest& test) -> awaitable<void> { co_await test.start(); }(*this));
  EXPECT_EQ(greeting_, std::string("\n") + kMarker);
}

TEST_F(Login, DoesNotWaitForAnAgentThatHangs) {
  must("node2", "echo >/run/root/.ssh/authorized_keys");
  asio::local::stream_protocol::acceptor silent(context_, "/run/silent.socket");
  ::setenv("SSH_AUTH_SOCK", "/run/silent.socket", 1);
  options_.deadline = 1s;
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kAuth);
  EXPECT_EQ(error.reason(), "ssh-agent does not answer");
}

// A second sshd of node2, with further options. sshd goes into the background before it listens.
void start_second_sshd(SshTest& test, const std::string& options) {
  test.must(
      "node2",
      "/usr/sbin/sshd -f /run/cluster/sshd_config -p 2222 -o PidFile=none " + options +
          " && timeout 30 sh -c 'until [ -n \"$(ss -Hltn sport = :2222)\" ]; do sleep 0.01; done'");
  test.options_.trust.accept_new_host_keys = true;
  test.node2_.port = 2222;
}

// This is not a refusal: the next try may succeed.
TEST_F(Login, ThatTheServerDoesNotLiveToAnswerIsNoDeniedPermission) {
  must("node2", "printf \"#!/bin/sh\\nkill -9 \\$PPID\\n\" >/run/cut && chmod 755 /run/cut");
  start_second_sshd(*this,
                    "-o AuthorizedKeysFile=none -o AuthorizedKeysCommand=/run/cut "
                    "-o AuthorizedKeysCommandUser=root");
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kUnreachable);
  EXPECT_THAT(error.what(), StartsWith("node2: cannot start agent: the connection broke while the "
                                       "server was to judge the login ("));
  EXPECT_EQ(error.hint(), "ssh -p 2222 node2 true");
}

TEST_F(Login, ThatGetsNoSessionIsNamedAsTheServersSetting) {
  start_second_sshd(*this, "-o MaxSessions=0");
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kOs);
  EXPECT_THAT(error.what(), StartsWith("node2: cannot start agent: logged in, but sshd opens no "
                                       "session: "));
  EXPECT_THAT(error.hint(), HasSubstr("maxsessions"));
}

// The server keeps the connection open; dtlaunch must not wait for its end.
TEST_F(Login, IsOverWhereTheServerFallsSilentAfterIt) {
  std::string reason;
  run([](Login& test, std::string& why) -> awaitable<void> {
    auto session = co_await open_ssh_session(test.context_, test.node2_, test.options_.trust, 3s);
    test.must("node2", "kill -STOP $(pgrep -f '^sshd: root')");
    try {
      co_await run_over_ssh(std::move(session), "true", ChannelEnd::kWholeSession);
    } catch (const Error& error) {
      why = error.reason();
    }
  }(*this, reason));
  EXPECT_EQ(reason, "the server does not start the login shell");
}

TEST_F(Login, FollowsTheUsersConfiguration) {
  write_file_atomically("/run/root/.ssh/config",
                        "Host big\n  HostName node2\n  User root\n  IdentityFile ~/.ssh/mine\n");
  must("node1", "mv /run/root/.ssh/id_ed25519 /run/root/.ssh/mine");
  node2_.name = "big";
  run([](SshTest& test) -> awaitable<void> { co_await test.start(); }(*this));
  EXPECT_EQ(greeting_, std::string("\n") + kMarker);
}

class Unreachable : public SshTest {
 public:
  // The agent's host becomes a listener of this program.
  tcp::acceptor listen_instead() {
    tcp::acceptor acceptor(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    node2_.name = "127.0.0.1";
    node2_.port = acceptor.local_endpoint().port();
    return acceptor;
  }
};

TEST_F(Unreachable, PortWithoutServerIsRefused) {
  node2_.port = 23;
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kUnreachable);
  EXPECT_THAT(error.what(),
              HasSubstr("node2: cannot connect to 10.77.0.2:23: Connection refused. Try: ssh"));
}

TEST_F(Unreachable, CutHostIsGivenUpAtTheDeadline) {
  cluster_.cluster("cut node2");
  options_.deadline = 500ms;
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kUnreachable);
  EXPECT_EQ(error.reason(), "no answer");
}

TEST_F(Unreachable, NameThatDoesNotExist) {
  node2_.name = "node22";
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kUnreachable);
  EXPECT_THAT(error.what(), StartsWith("node22: cannot resolve its name: "));
}

TEST_F(Unreachable, ServerThatSaysNothing) {
  const tcp::acceptor silent = listen_instead();
  options_.deadline = 300ms;
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kUnreachable);
  EXPECT_THAT(error.reason(), HasSubstr("nothing there speaks SSH"));
}

TEST_F(Unreachable, ServerThatHangsUpIsTriedFourTimes) {
  tcp::acceptor acceptor = listen_instead();
  int accepted = 0;
  std::function<void()> accept = [&] {
    acceptor.async_accept([&](boost::system::error_code error, tcp::socket) {
      if (error) return;
      ++accepted;  // and closed at once
      if (accepted < 4) accept();
    });
  };
  accept();
  const Error error = failure();
  EXPECT_EQ(error.status(), Exit::kUnreachable);
  EXPECT_THAT(error.reason(), StartsWith("the server there hangs up before it greets ("));
  EXPECT_EQ(accepted, 4);
}

}  // namespace
}  // namespace dtl::testing::ssh_refusal_test
