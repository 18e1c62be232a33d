#include "wire/task_group.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace dtl::task_group_test {
namespace {

awaitable<void> fail(std::string text) {
  throw std::runtime_error(text);
  co_return;
}

awaitable<void> wait_for(asio::steady_timer& timer, bool& ended) {
  boost::system::error_code error;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
  ended = true;
}

TEST(TaskGroup, JoinsWithoutTasks) {
  asio::io_context context;
  TaskGroup group(context);
  bool joined = false;
  asio::co_spawn(context, group.join(), [&](std::exception_ptr failure) { joined = !failure; });
  context.run();
  EXPECT_TRUE(joined);
}

TEST(TaskGroup, FirstFailureWinsAndEndsTheOthers) {
  asio::io_context context;
  TaskGroup group(context);
  asio::steady_timer timer(context, asio::steady_timer::time_point::max());
  bool ended = false;
  int calls = 0;
  group.on_failure([&](std::exception_ptr) {
    ++calls;
    timer.cancel();
  });
  group.spawn(wait_for(timer, ended));
  group.spawn(fail("first"));
  group.spawn(fail("second"));
  std::string text;
  asio::co_spawn(context, group.join(), [&](std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
  });
  context.run();
  EXPECT_EQ(text, "first");
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(ended);
}

TEST(RunTasks, EndsWithTheLastTaskOrTheFirstFailure) {
  asio::io_context context;
  asio::steady_timer soon(context, std::chrono::milliseconds(1));
  bool ended = false;
  run_tasks(context, [&](TaskGroup& tasks) { tasks.spawn(wait_for(soon, ended)); });
  EXPECT_TRUE(ended);

  asio::io_context another;
  asio::steady_timer never(another, asio::steady_timer::time_point::max());
  const auto run = [&] {
    run_tasks(another, [&](TaskGroup& tasks) {
      tasks.spawn(wait_for(never, ended));
      tasks.spawn(fail("out"));
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
}

}  // namespace
}  // namespace dtl::task_group_test
