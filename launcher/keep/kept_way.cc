// Starts agents with --idle: they wait for the next launcher instead of ending with the first one.
#include "launcher/keep/kept_way.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <utility>

#include "base/error.h"
#include "launcher/agents/agent_command.h"
#include "launcher/ssh/login_connect.h"
#include "launcher/ssh/session.h"
#include "launcher/ssh/stream.h"
#include "launcher/step/agent_step.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

class SshWay final : public KeptWay {
 public:
  SshWay(asio::io_context& context, Host host, StartOptions options)
      : context_(context), host_(std::move(host)), options_(std::move(options)) {}

  awaitable<void> connect() override {
    session_ = co_await open_ssh_session(context_, host_, options_.trust, options_.deadline);
    // The deadline is for the login. The connection itself may be idle for hours.
    session_->clear_deadline();
  }
  bool connected() const override { return session_ != nullptr && session_->alive(); }
  void drop() override {
    if (session_) session_->close();
    session_.reset();
  }
  awaitable<std::unique_ptr<AgentStream>> start_agent() override {
    // A copy: drop() may reset the member while this coroutine waits.
    const auto session = session_;
    session->set_deadline(std::chrono::steady_clock::now() + options_.deadline);
    std::string command = agent_command(options_.agent_path, "--idle");
    // Other agents use the session: the end of this one closes only its channel.
    auto stream = co_await run_over_ssh(session, std::move(command), ChannelEnd::kChannelOnly);
    session->clear_deadline();
    co_return stream;
  }
  std::size_t most_agents() const override { return std::numeric_limits<std::size_t>::max(); }
  std::string hint() const override {
    return command_on(host_, options_.agent_path + " --version");
  }

 private:
  asio::io_context& context_;
  const Host host_;
  const StartOptions options_;
  std::shared_ptr<SshSession> session_;  // shared with its streams
};

// The first agent starts the step. The step's starter does not start a lost node again.
class StepWay final : public KeptWay {
 public:
  StepWay(asio::io_context& context, Host host, StartOptions options)
      : context_(context), host_(std::move(host)), options_(std::move(options)) {}

  awaitable<void> connect() override {
    // The step starts with the first agent that is asked for.
    if (!std::exchange(tried_, true)) co_return;
    throw Error(Exit::kUnreachable, host_.name + ": cannot keep an agent",
                "the scheduler's step has ended there", "dtlaunch up");
  }
  bool connected() const override { return options_.step->has(host_); }
  void drop() override {}
  awaitable<std::unique_ptr<AgentStream>> start_agent() override {
    // The scheduler's signals reach the agent too; the holder decides what they mean.
    std::vector<std::string> arguments = {"--idle", "--unsignalled"};
    return options_.step->start(context_, host_, std::move(arguments));
  }
  std::size_t most_agents() const override { return 1; }
  std::string hint() const override { return "dtlaunch --show-scheduler"; }

 private:
  asio::io_context& context_;
  const Host host_;
  const StartOptions options_;
  bool tried_ = false;
};

}  // namespace

std::unique_ptr<KeptWay> keep_over_ssh(asio::io_context& context, Host host, StartOptions options) {
  return std::make_unique<SshWay>(context, std::move(host), std::move(options));
}

std::unique_ptr<KeptWay> keep_in_step(asio::io_context& context, Host host, StartOptions options) {
  return std::make_unique<StepWay>(context, std::move(host), std::move(options));
}

}  // namespace dtl
