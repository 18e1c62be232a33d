#include "plan/accelerators.h"

#include <gtest/gtest.h>

namespace dtl::accelerators_test {
namespace {

const std::vector<std::string> kTrain = {"python3", "train.py"};

TEST(ComputesOnCpu, WhereNoNodeHasAnAccelerator) {
  EXPECT_TRUE(computes_on_cpu({}, kTrain, {}, {}));
  EXPECT_FALSE(computes_on_cpu({"/dev/nvidia0"}, kTrain, {}, {}));
  EXPECT_FALSE(computes_on_cpu({"/dev/kfd"}, kTrain, {}, {}));
  EXPECT_FALSE(computes_on_cpu({"/dev/dri/renderD128"}, kTrain, {}, {}));
}

TEST(ComputesOnCpu, WhereTheUserHasHiddenThem) {
  for (const char* none : {"", "-1", "NoDevFiles"}) {
    EXPECT_TRUE(computes_on_cpu({"/dev/nvidia0", "/dev/kfd"}, kTrain,
                                {{"CUDA_VISIBLE_DEVICES", none}}, {}));
    EXPECT_TRUE(computes_on_cpu({"/dev/kfd"}, kTrain, {}, {{"HIP_VISIBLE_DEVICES", none}}));
    EXPECT_FALSE(computes_on_cpu({"/dev/nvidia0"}, kTrain, {{"HIP_VISIBLE_DEVICES", none}}, {}));
    EXPECT_FALSE(computes_on_cpu({"/dev/hl0"}, kTrain, {{"CUDA_VISIBLE_DEVICES", none}}, {}));
  }
  EXPECT_FALSE(computes_on_cpu({"/dev/nvidia0"}, kTrain, {{"CUDA_VISIBLE_DEVICES", ""}},
                               {{"CUDA_VISIBLE_DEVICES", "0"}}));
}

TEST(ComputesOnCpu, LeavesDeepSpeedAlone) {
  EXPECT_FALSE(computes_on_cpu({}, kTrain, {{"ACCELERATE_USE_DEEPSPEED", "true"}}, {}));
  EXPECT_FALSE(computes_on_cpu({}, {"python3", "run_glue.py", "--deepspeed", "ds.json"}, {}, {}));
  EXPECT_FALSE(computes_on_cpu({}, {"python3", "run_glue.py", "--deepspeed=ds.json"}, {}, {}));
  EXPECT_TRUE(computes_on_cpu({}, {"python3", "deepspeed.py"}, {}, {}));
  EXPECT_TRUE(computes_on_cpu({}, kTrain, {{"ACCELERATE_USE_DEEPSPEED", "false"}}, {}));
}

}  // namespace
}  // namespace dtl::accelerators_test
