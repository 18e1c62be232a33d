#pragma once
// KeptHost: one host of `dtlaunch up`: a connection that is logged in, and on it agents that have
// greeted and wait for a launcher. An agent that has finished a job greets again and waits for the
// next. Belongs to the holder's thread.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "launcher/ssh/session.h"
#include "launcher/ssh/stream.h"
#include "plan/host.h"

namespace dtl {

struct WaitingAgent {
  std::unique_ptr<SshStream> stream;
  std::string greeting;
};

class KeptHost {
 public:
  KeptHost(asio::io_context& context, Host host, StartOptions options);

  const Host& host() const { return host_; }
  const StartOptions& options() const { return options_; }
  bool connected() const;
  const std::optional<Error>& failure() const { return failure_; }  // of the last login

  // A task: logs in, has an agent waiting, sees that both stay alive; until stop(). on_tried is
  // called once, after the first attempt.
  awaitable<void> maintain(std::function<void()> on_tried);
  // Somebody asked for this host: a lost connection is made again at once.
  void wake() { changed_.cancel(); }
  void stop();

  // An agent for a job: one that waits, one that is about to, or a new one. Throws Error.
  awaitable<WaitingAgent> take_agent();
  // After its job. received: what it has sent since Finished.
  awaitable<void> give_back(std::unique_ptr<SshStream> stream, std::string received);

 private:
  awaitable<void> connect();
  awaitable<WaitingAgent> start_agent();
  awaitable<WaitingAgent> await_greeting(std::unique_ptr<SshStream> stream, std::string received);
  awaitable<void> keep_alive();
  awaitable<void> pause(std::chrono::milliseconds time);
  void drop_connection();

  asio::io_context& context_;
  Host host_;
  StartOptions options_;
  std::shared_ptr<SshSession> session_;  // shared with its streams
  std::deque<WaitingAgent> waiting_;
  int greeting_soon_ = 0;  // agents that have been given back and have not greeted yet
  std::optional<Error> failure_;
  asio::steady_timer changed_;
  bool stopped_ = false;
};

}  // namespace dtl
