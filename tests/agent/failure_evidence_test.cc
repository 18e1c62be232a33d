#include "agent/job/failure_evidence.h"

#include <gtest/gtest.h>

namespace dtl::failure_evidence_test {
namespace {

constexpr std::uint64_t kGib = 1 << 20;  // in KiB

TEST(FailureEvidence, BlamesMemoryOnlyForARankThatIsLargeOnItsNode) {
  EXPECT_FALSE(is_large_on_node(3 << 10, 24 * kGib))
      << "a shell, while another job ran out of memory";
  EXPECT_TRUE(is_large_on_node(2 * kGib, 1024 * kGib)) << "one of 512 ranks that fill their node";
  EXPECT_TRUE(is_large_on_node(20 * kGib, 24 * kGib));
  EXPECT_FALSE(is_large_on_node(0, 24 * kGib));
}

}  // namespace
}  // namespace dtl::failure_evidence_test
