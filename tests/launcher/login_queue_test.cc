#include "launcher/ssh/login_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "base/limits.h"

namespace dtl::login_queue_test {
namespace {

struct Logins {
  std::vector<std::size_t> order;  // in which they got their turn
  std::size_t now = 0, most = 0;
};

awaitable<void> log_in(asio::io_context& context, Logins& logins, std::size_t number,
                       std::chrono::milliseconds takes = std::chrono::milliseconds(1)) {
  const LoginQueue::Turn turn = co_await logins_of(context).turn();
  logins.order.push_back(number);
  logins.most = std::max(logins.most, ++logins.now);
  asio::steady_timer moment(context, takes);
  co_await moment.async_wait(asio::use_awaitable);
  --logins.now;
}

TEST(LoginQueue, LetsABoundedNumberOfHostsInInTheirOrder) {
  asio::io_context context;
  Logins logins;
  constexpr std::size_t kHosts = 3 * kMostLogins + 1;
  for (std::size_t i = 0; i < kHosts; ++i) {
    asio::co_spawn(context, log_in(context, logins, i), [](std::exception_ptr) {});
  }
  context.run();
  EXPECT_EQ(logins.order.size(), kHosts);
  EXPECT_TRUE(std::is_sorted(logins.order.begin(), logins.order.end()));
  EXPECT_EQ(logins.most, kMostLogins);
}

TEST(LoginQueue, MayBeLeftWithHostsThatWait) {
  auto context = std::make_unique<asio::io_context>();
  Logins logins;
  for (std::size_t i = 0; i < 2 * kMostLogins; ++i) {
    asio::co_spawn(*context, log_in(*context, logins, i, std::chrono::hours(1)),
                   [](std::exception_ptr) {});
  }
  context->poll();
  EXPECT_EQ(logins.now, kMostLogins);
  context.reset();
}

}  // namespace
}  // namespace dtl::login_queue_test
