#include "agent_driver.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/folders.h"
#include "tests/wire/frame_bytes.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

std::string read_some(int fd, int wait_ms) {
  pollfd ready{fd, POLLIN, 0};
  std::string bytes(64 << 10, '\0');
  if (::poll(&ready, 1, wait_ms) <= 0) return {};
  const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

// Fields of /proc/PID/stat after the name: state, parent, ...
std::pair<char, pid_t> state_and_parent(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string line = text.str();
  const std::size_t at = line.rfind(')');
  if (at == std::string::npos) return {'X', 0};
  std::istringstream rest(line.substr(at + 1));
  char state = 'X';
  pid_t parent = 0;
  rest >> state >> parent;
  return {state, parent};
}

}  // namespace

AgentDriver::AgentDriver(const std::string& folder, const std::string& job) {
  ::signal(SIGPIPE, SIG_IGN);
  launch(folder);
  read_greeting();
  send(Welcome{"0.1.0", job, "testhost", "testhost"});
  facts_ = expect<Hello>().facts;
}

AgentDriver::~AgentDriver() {
  line_.reset();
  if (pid_ < 0) return;
  for (const pid_t agent : children_of(pid_)) ::kill(agent, SIGKILL);  // the keeper ends the rest
  ::waitpid(pid_, nullptr, 0);
}

pid_t AgentDriver::agent() const {
  return children_of(pid_).at(0);
}

void AgentDriver::launch(const std::string& folder) {
  SocketPair pair = make_socketpair(SOCK_STREAM);
  line_ = std::move(pair.first);
  const std::string dtagent = folder.empty() ? test::program_path("dtagent") : folder + "/dtagent";
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(pair.second.get(), 0);
    ::dup2(pair.second.get(), 1);
    ::execl(dtagent.c_str(), "dtagent", "--stdio", static_cast<char*>(nullptr));
    ::_exit(127);
  }
}

void AgentDriver::read_greeting() {
  std::string received;
  const auto give_up = Clock::now() + kPatience;
  for (;;) {
    if (const auto found = find_greeting(received)) {
      reader_.feed(found->rest);
      return;
    }
    if (Clock::now() > give_up) fail("no greeting");
    received += read_some(line_.get(), 100);
  }
}

void AgentDriver::send(const Message& message) {
  write_all(line_.get(), frame_bytes(message, sequence_++));
}

void AgentDriver::start_script(std::uint32_t rank, const std::string& script) {
  Start start;
  start.secret = std::string(32, 's');
  start.ranks.push_back(script_rank(rank, script));
  send(start);
}

void AgentDriver::keep(const Message& message) {
  if (const auto* output = std::get_if<Output>(&message)) {
    outputs_[{output->rank, output->stream}] += output->bytes;
  } else if (!std::holds_alternative<Heartbeat>(message)) {
    inbox_.push_back(message);
  }
}

bool AgentDriver::pump(const std::function<bool()>& done, Wait patience) {
  const auto give_up = Clock::now() + patience;
  while (!done()) {
    if (Clock::now() > give_up) return false;
    if (heartbeats_ && Clock::now() > next_heartbeat_) {
      next_heartbeat_ = Clock::now() + std::chrono::seconds(1);
      send(Heartbeat{1});
    }
    reader_.feed(read_some(line_.get(), 50));
    while (const auto message = reader_.next()) keep(*message);
  }
  return true;
}

std::string AgentDriver::output(std::uint32_t rank, Stream stream) const {
  const auto at = outputs_.find({rank, stream});
  return at == outputs_.end() ? std::string() : at->second;
}

std::string AgentDriver::expect_output(std::uint32_t rank, const std::string& text, Stream stream) {
  const auto came = [&] { return output(rank, stream).find(text) != std::string::npos; };
  if (!pump(came, kPatience)) fail("output was: " + output(rank, stream));
  return output(rank, stream);
}

int AgentDriver::finish() {
  send(Finish{});
  expect<Finished>();
  return await_exit();
}

int AgentDriver::await_exit(Wait patience) {
  const auto give_up = Clock::now() + patience;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() > give_up) fail("dtagent did not exit");
    if (line_.valid()) read_some(line_.get(), 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void AgentDriver::fail(const std::string& what) const {
  std::string inbox;
  for (const Message& message : inbox_) inbox += std::string(" ") + message_name(message);
  throw std::runtime_error(what + "; messages kept:" + inbox);
}

RankSpec script_rank(std::uint32_t rank, const std::string& script) {
  RankSpec spec;
  spec.rank = spec.local_rank = rank;
  spec.arguments.push_back("/bin/sh");
  spec.arguments.push_back("-c");
  spec.arguments.push_back(script);
  spec.environment.added.push_back({0, "PATH=/usr/bin:/bin"});
  spec.environment.added.push_back({0, "RANK=" + std::to_string(rank)});
  spec.working_directory = "/";
  return spec;
}

bool is_alive(pid_t pid) {
  const char state = state_and_parent(pid).first;
  return state != 'X' && state != 'Z';
}

std::size_t await_gone(const std::vector<pid_t>& pids, std::chrono::milliseconds patience) {
  const auto give_up = Clock::now() + patience;
  for (;;) {
    const auto alive = std::count_if(pids.begin(), pids.end(), is_alive);
    if (alive == 0 || Clock::now() > give_up) return static_cast<std::size_t>(alive);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace dtl
