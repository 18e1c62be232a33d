#include "base/machine/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace dtl::memory_limit_test {
namespace {

using testing::HasSubstr;

TEST(MemoryLimit, IsNamedWhereThereIsOne) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit soft = before;
  soft.rlim_cur = std::min<rlim_t>(before.rlim_max, rlim_t{1} << 46);  // more than any test uses
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &soft), 0);
  const auto memory = resource_error(std::bad_alloc());
  const auto thread =
      resource_error(std::system_error(std::make_error_code(std::errc(EAGAIN)), "thread"));
  ::setrlimit(RLIMIT_AS, &before);
  ASSERT_TRUE(memory && thread);
  EXPECT_EQ(memory->status(), Exit::kOs);
  EXPECT_THAT(memory->what(), HasSubstr("Cannot allocate memory; its address space is limited to"));
  EXPECT_THAT(memory->hint(), HasSubstr("ulimit -v unlimited"));
  EXPECT_THAT(thread->reason(), HasSubstr("(ulimit -v)"));
}

TEST(MemoryLimit, IsNotBlamedForOtherFailures) {
  EXPECT_FALSE(resource_error(std::runtime_error("x")));
  EXPECT_FALSE(
      resource_error(std::system_error(std::make_error_code(std::errc(ENOENT)), "a file")));
}

}  // namespace
}  // namespace dtl::memory_limit_test
