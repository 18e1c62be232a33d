#include "plan/cpu_set.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl {
namespace {

TEST(CpuSet, WritesTheKernelsListFormat) {
  EXPECT_EQ(CpuSet({8, 1, 2, 0, 3}).to_list(), "0-3,8");
  EXPECT_EQ(CpuSet().to_list(), "");
  EXPECT_EQ(CpuSet({130, 131}).to_list(), "130-131");
}

TEST(CpuSet, ReadsWhatItWrites) {
  for (const char* list : {"", "0", "0-3,8", "63-64", "5,7,9-300"}) {
    EXPECT_EQ(CpuSet::parse_list(list).to_list(), list);
  }
  EXPECT_EQ(CpuSet::parse_list("0-1\n").count(), 2);
}

TEST(CpuSet, RefusesWhatIsNoList) {
  for (const char* list : {"a", "3-1", "1,,2", "-1", "0-", "99999999999", "0-2000000", "1 2"}) {
    EXPECT_THROW(CpuSet::parse_list(list), Error) << list;
  }
}

TEST(CpuSet, IsAValueWhateverItsSizeWas) {
  CpuSet set({1, 500});
  set.remove(500);
  EXPECT_EQ(set, CpuSet({1}));
  EXPECT_EQ(CpuSet({1, 500}) & CpuSet({1}), CpuSet({1}));
  EXPECT_EQ(CpuSet({1, 500}) - CpuSet({500}), CpuSet({1}));
  EXPECT_EQ(CpuSet({1}) | CpuSet({500}), CpuSet({1, 500}));
}

TEST(CpuSet, KnowsItsMembers) {
  const CpuSet set({70, 3});
  EXPECT_TRUE(set.contains(70));
  EXPECT_FALSE(set.contains(4));
  EXPECT_FALSE(set.contains(-1));
  EXPECT_FALSE(set.contains(100000));
  EXPECT_EQ(set.first(), 3);
  EXPECT_EQ(set.to_vector(), (std::vector<int>{3, 70}));
  EXPECT_EQ(CpuSet().first(), -1);
  EXPECT_TRUE(CpuSet().empty());
}

}  // namespace
}  // namespace dtl
