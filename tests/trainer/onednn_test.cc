#include "trainer/maths/onednn.h"

#include <gtest/gtest.h>

namespace dtl::trainer::onednn_test {
namespace {

// A wrong sum that nobody notices is worse than the end of the process, in every build.
TEST(OneDnnDeathTest, EndsTheProcessWhenOneDnnFails) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // BLAS has threads of its own
  expect(dnnl_success);
  EXPECT_DEATH(expect(dnnl_out_of_memory),
               "bf16: oneDNN cannot compute: not enough memory\\. Try: --bf16 false");
  EXPECT_DEATH(expect(dnnl_invalid_arguments), "oneDNN cannot compute: status 2");
}

}  // namespace
}  // namespace dtl::trainer::onednn_test
