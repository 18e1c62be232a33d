// The first failure wins: later ones are usually its consequences (a closed stream). Completion
// handlers share the state, as they may run after the group is destroyed.
#include "wire/task_group.h"

#include <utility>

namespace dtl {

TaskGroup::TaskGroup(asio::io_context& context)
    : context_(context), state_(std::make_shared<State>(context)) {}

void TaskGroup::spawn(awaitable<void> task) {
  ++state_->running;
  asio::co_spawn(context_, std::move(task), [state = state_](std::exception_ptr failure) {
    --state->running;
    if (failure && !state->first_failure) {
      state->first_failure = failure;
      if (state->on_failure) state->on_failure(failure);
    }
    if (state->running == 0) state->all_ended.cancel();
  });
}

void TaskGroup::on_failure(std::function<void(std::exception_ptr)> handler) {
  state_->on_failure = std::move(handler);
}

awaitable<void> TaskGroup::join() {
  const std::shared_ptr<State> state = state_;
  while (state->running > 0) {
    boost::system::error_code woken;
    co_await state->all_ended.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (state->first_failure) std::rethrow_exception(state->first_failure);
}

void run_tasks(asio::io_context& context, const std::function<void(TaskGroup&)>& spawn_all) {
  TaskGroup tasks(context);
  std::exception_ptr fault;
  tasks.on_failure([&](std::exception_ptr failure) {
    fault = std::move(failure);
    // Nobody joins here: once the context stops, the other tasks never run again.
    context.stop();
  });
  spawn_all(tasks);
  context.run();
  if (fault) std::rethrow_exception(fault);
}

}  // namespace dtl
