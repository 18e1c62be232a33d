#include "base/machine/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace dtl::descriptor_limit_test {
namespace {

rlim_t soft_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

TEST(DescriptorLimit, IsRaisedForUsAndNotForWhatWeStart) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 300) GTEST_SKIP() << "the hard limit is too low";
  limit.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  {
    const UsersDescriptorLimit not_raised_yet;
    EXPECT_EQ(soft_limit(), 200u);
  }
  EXPECT_EQ(soft_limit(), 200u);
  raise_descriptor_limit(300);
  EXPECT_EQ(soft_limit(), 300u);
  raise_descriptor_limit(250);  // once is enough
  EXPECT_EQ(soft_limit(), 300u);
  {
    const UsersDescriptorLimit as_the_user_has_it;
    EXPECT_EQ(soft_limit(), 200u);
  }
  EXPECT_EQ(soft_limit(), 300u);
  EXPECT_GE(descriptor_limit(), 300u);
  restore_descriptor_limit();
  EXPECT_EQ(soft_limit(), 200u);
}

}  // namespace
}  // namespace dtl::descriptor_limit_test
