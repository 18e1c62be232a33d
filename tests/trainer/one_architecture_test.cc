#include "trainer/job/one_architecture.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/thread_ring.h"

namespace dtl::trainer::one_architecture_test {
namespace {

TEST(OneArchitecture, IsThatOfThisBuild) {
  EXPECT_NE(own_architecture(), 0u);
  run_ranks(3, [](Ranks& group) { require_one_architecture(group); });
  Ranks alone;
  require_one_architecture(alone);
}

TEST(OneArchitecture, NamesTheFirstRankOfAnother) {
  try {
    run_ranks(4, [](Ranks& group) {
      require_one_architecture(group, group.rank() < 2 ? EM_X86_64 : EM_AARCH64);
    });
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    EXPECT_THAT(error.what(), testing::StartsWith("ranks 0 and 2: run on x86-64 and arm64, "));
  }
}

}  // namespace
}  // namespace dtl::trainer::one_architecture_test
