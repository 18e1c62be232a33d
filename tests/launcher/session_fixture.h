#pragma once
// A session with two nodes, n1 and n2, with fake agents, and with pipes for its output.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/launcher/fake_agent.h"

namespace dtl::testing_support {

// The fake agents' tasks. They end with the io_context of their session.
struct FakeAgents : asio::execution_context::service {
  inline static asio::execution_context::id id;
  explicit FakeAgents(asio::execution_context& context)
      : service(context), tasks(static_cast<asio::io_context&>(context)) {}
  void shutdown() override { tasks.reset(); }
  std::optional<TaskGroup> tasks;
};

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    request_.programs[0].command = {"prog", "arg"};
    request_.programs[0].working_directory = "/";
    for (const char* name : {"n1", "n2"}) request_.hosts.emplace_back().name = name;
    request_.placement.ranks_per_node = 1;
    for (const char* name : {"n1", "n2"}) agents_[name] = {{}, DTL_VERSION, two_cores(), {}};
    options_.job_id = "0123456789abcdef";
    options_.output = out_.write_end.get();
    options_.errors = err_.write_end.get();
    options_.input = null_.get();
    options_.start_agent = [this](asio::io_context& context, Host host) {
      return start(context, host);
    };
  }

  awaitable<std::unique_ptr<AgentStream>> start(asio::io_context& context, Host host) {
    if (unreachable_.contains(host.name)) {
      throw Error(unreachable_[host.name], host.name + ": cannot connect", "no route", "ping");
    }
    TaskGroup& tasks = *asio::use_service<FakeAgents>(context).tasks;
    SocketPair pair = make_socketpair(SOCK_STREAM);
    tasks.spawn(live(context, agents_[host.name], std::move(pair.first), tasks));
    co_return std::make_unique<FakeStream>(make_fd_stream(context, std::move(pair.second)));
  }

  SessionResult run() {
    SessionResult result = run_session(request_, options_);
    out_.write_end.reset();
    err_.write_end.reset();
    output_ = read_all(out_.read_end);
    errors_ = read_all(err_.read_end);
    return result;
  }

  static std::string read_all(Fd& fd) {
    std::string all;
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }

  void ranks_do(std::function<void(const RankSpec&, Connection&)> on_start,
                Behaviour others = nullptr) {
    for (auto& [name, agent] : agents_) agent.behaviour = healthy(on_start, others);
  }

  Request request_;
  SessionOptions options_;
  std::map<std::string, FakeAgent> agents_;
  std::map<std::string, Exit> unreachable_;
  Pipe out_ = make_pipe(), err_ = make_pipe();
  Fd null_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  std::string output_, errors_;
};

// Ranks that end when told to stop, as most do.
inline Behaviour end_when_stopped(std::uint32_t rank) {
  return [rank](const Message& message, Connection& connection) {
    if (std::holds_alternative<Stop>(message)) {
      Exited exited;
      exited.rank = rank;
      exited.signal = SIGTERM;
      connection.send(exited);
    }
    return true;
  };
}

}  // namespace dtl::testing_support
