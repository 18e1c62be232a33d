// A way may allow a single agent. So each agent is always counted in one of four places, even while
// a coroutine holds it; is_full() adds them up.
#include "launcher/keep/kept_connection_host.h"

#include <algorithm>
#include <utility>

#include "launcher/agents/agent_link.h"
#include "launcher/streams/socket_stream.h"

namespace dtl {
namespace {

constexpr auto kSignOfLife = 20s;       // to waiting agents; they leave after 90 s without one
constexpr auto kRetry = 60s;            // after a failed login, unless a launcher asks
constexpr auto kSoon = 500ms;           // an agent greets again within 5 ms of its job
constexpr std::size_t kMaxWaiting = 2;  // per host; further jobs at a time start their own

// Counts an agent while a coroutine holds it outside the queue.
class Aside {
 public:
  explicit Aside(std::size_t& count) : count_(count) { ++count_; }
  ~Aside() { --count_; }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace

KeptHost::KeptHost(asio::io_context& context, Host host, StartOptions options)
    : context_(context),
      host_(std::move(host)),
      options_(std::move(options)),
      way_(options_.step ? keep_in_step(context, host_, options_)
                         : keep_over_ssh(context, host_, options_)),
      changed_(context, asio::steady_timer::time_point::max()) {}

void KeptHost::stop() {
  stopped_ = true;
  waiting_.clear();
  wake();
}

void KeptHost::drop_connection() {
  waiting_.clear();
  way_->drop();
}

// wake() ends it early.
awaitable<void> KeptHost::pause(std::chrono::milliseconds time) {
  changed_.expires_after(time);
  boost::system::error_code woken;
  co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

awaitable<WaitingAgent> KeptHost::await_greeting(std::unique_ptr<AgentStream> stream,
                                                 std::string received) {
  WaitingAgent agent;
  agent.greeting = co_await read_greeting(context_, *stream, kHelloDeadline, std::move(received));
  if (agent.greeting.empty()) {
    if (const auto refusal = refused_agent(host_, *stream)) throw *refusal;
    throw Error(Exit::kOs, host_.name + ": cannot start agent",
                "dtagent does not greet, or is of another version: " + stream->standard_error(),
                way_->hint());
  }
  agent.stream = std::move(stream);
  co_return agent;
}

awaitable<WaitingAgent> KeptHost::start_agent() {
  auto stream = co_await way_->start_agent();
  co_return co_await await_greeting(std::move(stream), std::string());
}

// The newline tells the agent that somebody is there. A failed write shows that the agent or the
// connection is gone. The queue is emptied first, because take_agent() may run between two writes.
awaitable<void> KeptHost::keep_alive() {
  std::deque<WaitingAgent> agents = std::exchange(waiting_, {});
  aside_ = agents.size();
  for (WaitingAgent& agent : agents) {
    --aside_;
    const Aside counted(aside_);
    try {
      co_await agent.stream->write("\n");
      waiting_.push_back(std::move(agent));
    } catch (const Error&) {
      agent.stream->close();
    }
  }
}

awaitable<void> KeptHost::maintain(std::function<void()> on_tried) {
  while (!stopped_) {
    bool failed = false;
    try {
      if (!connected()) {
        drop_connection();
        co_await way_->connect();
      }
      // An agent may have ended by itself.
      std::erase_if(waiting_, [](const WaitingAgent& a) { return !a.stream->ending().empty(); });
      if (waiting_.empty() && greeting_soon_ == 0 && !is_full() && !stopped_) {
        const Aside counted(aside_);
        waiting_.push_back(co_await start_agent());
      }
      failure_.reset();
    } catch (const Error& error) {
      // `dtlaunch up` reports errors of the first try; later ones are not shown.
      failure_ = error.attempted().starts_with(host_.name) ? error : error.with_context(host_.name);
      failed = true;
    }
    // Agents over a broken connection are lost too.
    if (failed) drop_connection();
    if (on_tried) std::exchange(on_tried, nullptr)();
    if (stopped_) break;
    co_await pause(failed ? std::chrono::milliseconds(kRetry) : kSignOfLife);
    if (!stopped_) co_await keep_alive();
  }
  waiting_.clear();
}

awaitable<WaitingAgent> KeptHost::take_agent() {
  const auto deadline = std::chrono::steady_clock::now() + kSoon;
  // Worth a short wait: a new agent costs a login shell, and some ways allow only one agent.
  const auto comes_soon = [this] { return greeting_soon_ > 0 || (aside_ > 0 && is_full()); };
  while (waiting_.empty() && comes_soon() && std::chrono::steady_clock::now() < deadline) {
    asio::steady_timer moment(context_, 1ms);
    co_await moment.async_wait(asio::use_awaitable);
  }
  while (!waiting_.empty()) {
    WaitingAgent agent = std::move(waiting_.front());
    waiting_.pop_front();
    if (!agent.stream->ending().empty()) continue;
    ++with_jobs_;
    co_return agent;
  }
  if (is_full()) {
    throw Error(Exit::kTryAgain, host_.name + ": no agent waits", "a job has it");
  }
  ++with_jobs_;
  std::optional<Error> failure;
  try {
    co_return co_await start_agent();
  } catch (const Error& error) {
    failure = error;
  }
  --with_jobs_;
  throw *failure;
}

void KeptHost::end_agent(AgentStream& stream) {
  --with_jobs_;
  stream.close();
}

awaitable<void> KeptHost::give_back(std::unique_ptr<AgentStream> stream, std::string received) {
  --with_jobs_;
  // The holder is ending, or enough agents wait: more would only use memory on the host.
  if (stopped_ || waiting_.size() >= kMaxWaiting) {
    stream->close();
    co_return;
  }
  ++greeting_soon_;
  try {
    auto agent = co_await await_greeting(std::move(stream), std::move(received));
    if (!stopped_) waiting_.push_back(std::move(agent));
  } catch (const Error&) {
    wake();  // maintain() starts another one
  }
  --greeting_soon_;
}

}  // namespace dtl
