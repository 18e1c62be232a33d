#pragma once
// KeptHost: one host of `dtlaunch up`. It keeps a connection to the host (kept_way.h) and agents
// that have greeted and wait for a launcher. After a job, an agent greets again and waits for the
// next one. Belongs to the holder's thread.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_way.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/host.h"

namespace dtl {

struct WaitingAgent {
  std::unique_ptr<AgentStream> stream;
  std::string greeting;
};

class KeptHost {
 public:
  KeptHost(asio::io_context& context, Host host, StartOptions options);

  const Host& host() const { return host_; }
  const StartOptions& options() const { return options_; }
  bool connected() const { return way_->connected(); }
  const std::optional<Error>& failure() const { return failure_; }  // of the last connect()

  // Run it as a task: connects, starts an agent that waits, and checks that both stay alive, until
  // stop(). Calls on_tried once, after the first attempt.
  awaitable<void> maintain(std::function<void()> on_tried);
  // A launcher asked for this host: reconnect now and not after kRetry.
  void wake() { changed_.cancel(); }
  void stop();

  // An agent for a job: one that waits, one that will soon greet, or a new one. Throws Error, also
  // if no more agents may run there. Call give_back() or end_agent() for each.
  awaitable<WaitingAgent> take_agent();
  // After the agent's job. received: the agent's bytes since Finished. Does not throw.
  awaitable<void> give_back(std::unique_ptr<AgentStream> stream, std::string received);
  // Instead of give_back(), for an agent that must not greet again.
  void end_agent(AgentStream& stream);

 private:
  awaitable<WaitingAgent> start_agent();
  awaitable<WaitingAgent> await_greeting(std::unique_ptr<AgentStream> stream, std::string received);
  awaitable<void> keep_alive();
  awaitable<void> pause(std::chrono::milliseconds time);
  void drop_connection();
  bool is_full() const {
    return waiting_.size() + greeting_soon_ + with_jobs_ + aside_ >= way_->most_agents();
  }

  asio::io_context& context_;
  Host host_;
  StartOptions options_;
  std::unique_ptr<KeptWay> way_;
  std::deque<WaitingAgent> waiting_;
  std::size_t greeting_soon_ = 0;  // agents given back that have not greeted yet
  std::size_t with_jobs_ = 0;      // agents that serve jobs
  std::size_t aside_ = 0;          // agents that maintain() holds outside of waiting_
  std::optional<Error> failure_;
  // Cancelled to wake maintain().
  asio::steady_timer changed_;
  bool stopped_ = false;
};

}  // namespace dtl
