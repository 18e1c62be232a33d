#include "launcher/ssh/blocking_calls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

namespace dtl::blocking_calls_test {
namespace {

// Leaves a worker busy, ends the context and exits with 3, or with 99 where exit() goes on to what
// other libraries have registered.
[[noreturn]] void exit_with_a_busy_worker() {
  std::atexit([] { ::_exit(99); });
  auto context = std::make_unique<asio::io_context>();
  auto began = std::make_shared<std::atomic<bool>>(false);
  asio::co_spawn(*context,
                 workers_of(*context).run(
                     [began] {
                       *began = true;
                       std::this_thread::sleep_for(std::chrono::hours(1));
                     },
                     std::chrono::steady_clock::now() + std::chrono::hours(1)),
                 [](std::exception_ptr, bool) {});
  while (!*began) context->poll();
  context.reset();
  std::exit(3);
}

TEST(BlockingCallsDeathTest, DoNotOutliveTheLibrariesThatTheyUse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_a_busy_worker(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace dtl::blocking_calls_test
