#include "wire/deadline.h"

#include <gtest/gtest.h>

#include <thread>

#include "wire/asio.h"

namespace dtl::deadline_test {
namespace {

using namespace std::chrono_literals;

// The deadline has passed and its handler is queued when somebody postpones it.
TEST(Deadline, PostponedWhileItsHandlerIsQueuedDoesNotPass) {
  asio::io_context context;
  bool passed = false;
  Deadline deadline(context, Deadline::Clock::now() + 1ms, [&] { passed = true; });
  std::this_thread::sleep_for(5ms);
  asio::post(context, [&] { deadline.postpone(1h); });
  context.poll();
  EXPECT_FALSE(passed);
  EXPECT_FALSE(deadline.passed());
}

TEST(Deadline, PassesOnceItsLaterMomentIsThere) {
  asio::io_context context;
  int passed = 0;
  Deadline deadline(context, Deadline::Clock::now() + 1h, [&] { ++passed; });
  deadline.postpone(1ms);
  context.run();
  EXPECT_EQ(passed, 1);
  EXPECT_TRUE(deadline.passed());
}

}  // namespace
}  // namespace dtl::deadline_test
