#include "plan/pinning/cpu_set.h"

#include <gtest/gtest.h>

namespace dtl::cpu_set_test {
namespace {

TEST(CpuSet, WritesTheKernelsListFormat) {
  EXPECT_EQ(CpuSet({8, 1, 2, 0, 3}).to_list(), "0-3,8");
  EXPECT_EQ(CpuSet().to_list(), "");
  EXPECT_EQ(CpuSet({130, 131}).to_list(), "130-131");
}

TEST(CpuSet, IsAValueWhateverItsSizeWas) {
  EXPECT_EQ(CpuSet({1, 500}) & CpuSet({1}), CpuSet({1}));
  EXPECT_EQ(CpuSet({1, 500}) - CpuSet({500}), CpuSet({1}));
  EXPECT_EQ(CpuSet({1}) | CpuSet({500}), CpuSet({1, 500}));
}

TEST(CpuSet, KnowsItsMembers) {
  const CpuSet set({70, 3});
  EXPECT_EQ(set.first(), 3);
  EXPECT_EQ(set.to_vector(), (std::vector<int>{3, 70}));
  EXPECT_EQ(CpuSet().first(), -1);
  EXPECT_TRUE(CpuSet().empty());
}

}  // namespace
}  // namespace dtl::cpu_set_test
