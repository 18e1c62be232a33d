#include "tests/support/test_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "tests/support/folders.h"

// LeakSanitizer looks for its process in /proc, which in a host's namespaces shows other pids.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

namespace dtl::testing {
namespace {

constexpr int kSkip = 77;

std::string read_all(std::FILE* file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file);
    if (size == 0) return text;
    text.append(buffer.data(), size);
  }
}

std::string run(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return "255\ncannot run a shell";
  const std::string output = read_all(pipe);
  const int status = ::pclose(pipe);
  return fmt::format("{}\n{}", WIFEXITED(status) ? WEXITSTATUS(status) : 255, output);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Runs a command per packet, answering each with a packet, until the test ends.
[[noreturn]] void control(int socket) {
  std::string state = fmt::format("/var/tmp/dtl-test-cluster.{}", ::getpid());
  ::setenv("DTL_CLUSTER", state.c_str(), 1);
  std::string packet(64 << 10, '\0');
  for (;;) {
    const ssize_t size = ::recv(socket, packet.data(), packet.size(), 0);
    if (size <= 0) break;
    const std::string answer = run(packet.substr(0, static_cast<std::size_t>(size)));
    ::send(socket, answer.data(), std::min(answer.size(), packet.size()), MSG_NOSIGNAL);
  }
  run(quoted(test::source_path("tests/cluster/cluster")) + " down");
  ::_exit(0);
}

// The pid, on the machine, of the host's init: it is always the host's pid 1.
pid_t init_of(const std::string& ps, const std::string& host) {
  const std::size_t at = ps.find("\n" + host + " 1 ");
  return at == std::string::npos ? 0 : std::atoi(ps.c_str() + at + host.size() + 4);
}

}  // namespace

TestCluster::TestCluster(const std::string& up_arguments) {
  SocketPair sockets = make_socketpair(SOCK_SEQPACKET);
  pid_ = ::fork();
  if (pid_ == 0) {
    sockets.first.reset();
    control(sockets.second.get());
  }
  controller_ = std::move(sockets.first);
  const CommandResult up = cluster("up " + up_arguments);
  reason_ = up.output;
  if (up.status == kSkip) return;
  if (up.status != 0) throw std::runtime_error(up.output);
  const pid_t init = init_of(cluster("ps").output, "node1");
  const Fd host(static_cast<int>(::syscall(SYS_pidfd_open, init, 0)));
  if (::setns(host.get(), CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) != 0) {
    throw std::runtime_error(
        "cannot enter node1: only a process without other threads can; ctest runs each test in its "
        "own");
  }
  ::setenv("HOME", "/run/root", 1);
  ::unsetenv("SSH_AUTH_SOCK");
  available_ = true;
}

TestCluster::~TestCluster() {
  controller_.reset();
  ::waitpid(pid_, nullptr, 0);
}

CommandResult TestCluster::on(const std::string& host, const std::string& command) {
  return cluster(fmt::format("exec {} sh -c {}", host, quoted(command)));
}

CommandResult TestCluster::cluster(const std::string& words) {
  return ask(quoted(test::source_path("tests/cluster/cluster")) + " " + words);
}

CommandResult TestCluster::ask(const std::string& line) {
  ::send(controller_.get(), line.data(), line.size(), MSG_NOSIGNAL);
  std::string packet(64 << 10, '\0');
  const ssize_t size = ::recv(controller_.get(), packet.data(), packet.size(), 0);
  if (size <= 0) return {};
  packet.resize(static_cast<std::size_t>(size));
  const std::size_t end = packet.find('\n');
  return {std::atoi(packet.c_str()), packet.substr(end + 1)};
}

}  // namespace dtl::testing
