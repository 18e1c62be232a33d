#pragma once
// WatchedHosts: one dtagent --watch on each host, started once, whose frames arrive until the end.
// A host that cannot be reached, or is lost, is tried again from time to time. A host's frames that
// are not complete are bounded (HostFrameReader). Belongs to the thread of its io_context.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "plan/request/host.h"
#include "wire/asio.h"
#include "wire/deadline.h"
#include "wire/task_group.h"

namespace dtl {

class WatchedHosts {
 public:
  struct Events {
    std::function<void(std::size_t host, std::string frame)> frame;
    // next_try: from now; nullopt: it is not tried again.
    std::function<void(std::size_t host, const Error& error,
                       std::optional<std::chrono::milliseconds> next_try)>
        lost;
  };
  struct Wish {
    std::string job_id;  // empty: all jobs
    std::chrono::milliseconds period{0};
    bool try_again = true;
  };

  WatchedHosts(asio::io_context& context, TaskGroup& tasks, StartOptions start, Wish wish,
               Events events)
      : context_(context),
        tasks_(tasks),
        start_(std::move(start)),
        wish_(std::move(wish)),
        events_(std::move(events)) {}

  // Begins to watch it as host number `number`.
  void add(std::size_t number, const Host& host);
  // Gives every host time again to send its next frame: this process was stopped.
  void excuse();

 private:
  awaitable<void> watch(std::size_t number, Host host);
  awaitable<void> read_frames(std::size_t number, Host host);
  std::chrono::milliseconds patience() const;

  asio::io_context& context_;
  TaskGroup& tasks_;
  const StartOptions start_;
  const Wish wish_;
  const Events events_;
  // By number: when the host counts as lost. Owned by read_frames(); nullptr: not connected.
  std::vector<StreamDeadline*> deadlines_;
};

}  // namespace dtl
