#include "launcher/top/watched_hosts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "launcher/agents/agent_link.h"
#include "launcher/agents/agent_query.h"
#include "launcher/top/host_frame.h"

namespace dtl {
namespace {

// A host that restarts is back soon enough; one that is down costs a login each time.
constexpr std::chrono::milliseconds kFirstRetry{5'000}, kLastRetry{60'000};

// Takes a host's entry out of a list when its frames end, however that happens.
class Registered {
 public:
  Registered(std::vector<StreamDeadline*>& list, std::size_t at, StreamDeadline* deadline)
      : list_(list), at_(at) {
    list_[at_] = deadline;
  }
  ~Registered() { list_[at_] = nullptr; }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  std::vector<StreamDeadline*>& list_;
  std::size_t at_;
};

}  // namespace

void WatchedHosts::add(std::size_t number, const Host& host) {
  deadlines_.resize(std::max(deadlines_.size(), number + 1), nullptr);
  tasks_.spawn(watch(number, host));
}

void WatchedHosts::excuse() {
  for (StreamDeadline* deadline : deadlines_) {
    if (deadline != nullptr) deadline->postpone(patience());
  }
}

// For the first frame, and from each one to the next.
std::chrono::milliseconds WatchedHosts::patience() const {
  return 2 * wish_.period + kHelloDeadline + kAnswerMargin;
}

awaitable<void> WatchedHosts::watch(std::size_t number, Host host) {
  for (auto pause = kFirstRetry;; pause = std::min(2 * pause, kLastRetry)) {
    std::optional<Error> failure;
    const auto began = std::chrono::steady_clock::now();
    try {
      co_await read_frames(number, host);
    } catch (const Error& error) {
      const bool named = error.attempted().starts_with(host.name);
      failure = named ? error : error.with_context(host.name);
    }
    // It was well for a while, so the next failure is another one.
    if (std::chrono::steady_clock::now() - began > kLastRetry) pause = kFirstRetry;
    if (!wish_.try_again) {
      events_.lost(number, *failure, std::nullopt);
      co_return;
    }
    events_.lost(number, *failure, pause);
    asio::steady_timer timer(context_, pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// Ends by an Error only.
awaitable<void> WatchedHosts::read_frames(std::size_t number, Host host) {
  std::vector<std::string> arguments = {"--watch"};
  arguments.push_back(wish_.job_id.empty() ? "all" : wish_.job_id);
  arguments.push_back(std::to_string(wish_.period.count()));
  const auto stream = co_await run_agent(context_, host, start_, std::move(arguments));
  StreamDeadline deadline(context_, *stream, patience());
  const Registered registered(deadlines_, number, &deadline);
  HostFrameReader reader;
  std::function<bool(std::string_view)> take = [&](std::string_view bytes) {
    for (std::string& frame : reader.feed(bytes)) {
      deadline.postpone(patience());
      events_.frame(number, std::move(frame));
    }
    return true;
  };
  std::optional<Error> failure;
  try {
    co_await read_answer(*stream, host, std::move(take));
  } catch (const Error& error) {
    failure = error;
  }
  if (deadline.passed()) {
    throw Error(Exit::kUnreachable, "lost", "its dtagent is silent");
  }
  if (failure) throw Error(*failure);
  throw Error(Exit::kUnreachable, "lost", "its dtagent has ended: " + describe_ending(*stream));
}

}  // namespace dtl
