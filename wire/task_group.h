#pragma once
// TaskGroup: a group of coroutines. spawn() starts one at once; join() returns when all have ended.
// The first failure runs on_failure, which should close whatever the others wait for, and join()
// rethrows it. One io_context thread. The group must be joined, unless the io_context never runs
// again.

#include <exception>
#include <functional>
#include <memory>

#include "wire/asio.h"

namespace dtl {

class TaskGroup {
 public:
  explicit TaskGroup(asio::io_context& context);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(awaitable<void> task);
  // Called once, with the first failure.
  void on_failure(std::function<void(std::exception_ptr)> handler);
  awaitable<void> join();

 private:
  struct State {
    explicit State(asio::io_context& context)
        : all_ended(context, asio::steady_timer::time_point::max()) {}
    std::size_t running = 0;
    std::exception_ptr first_failure;
    std::function<void(std::exception_ptr)> on_failure;
    asio::steady_timer all_ended;  // never expires; cancelled when the last task has ended
  };
  asio::io_context& context_;
  std::shared_ptr<State> state_;  // shared with the tasks' completion handlers
};

// Runs `context` until the tasks that `spawn_all` spawns, and those that they start, are over. The
// first failure stops it and is rethrown.
void run_tasks(asio::io_context& context, const std::function<void(TaskGroup&)>& spawn_all);

}  // namespace dtl
