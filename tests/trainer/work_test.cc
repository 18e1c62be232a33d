#include "trainer/step/step_cost.h"

#include <gtest/gtest.h>

#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::work_test {
namespace {

// Two sequences of 3 and 5 tokens.
Batch small_batch() {
  Examples examples;
  examples.starts = {0, 3, 8};
  examples.ids = {1, 2, 3, 4, 5, 6, 7, 8};
  examples.types.resize(8);
  examples.labels = {0, 1};
  return make_batch(examples, first_indices(2));
}

TEST(Work, CountsEveryProductOfEveryLayer) {
  ModelConfig config = tiny_config(ModelType::kBert);
  config.task = Task::kQuestionAnswering;  // all rows of all layers
  const double h = 24, i = 37, tokens = 8, squares = 9 + 25;
  const double linear = 2 * tokens * h * (3 * h + h + 2 * i);  // q k v, out, up and down
  const double attention = 2 * 2 * squares * h;                // scores, context
  EXPECT_DOUBLE_EQ(product_flops(config, small_batch()), 2 * 3 * (linear + attention));
}

TEST(Work, CountsOnlyFirstRowsOfAClassifiersLastLayer) {
  ModelConfig config = tiny_config(ModelType::kBert);
  config.layers = 1;
  const double h = 24, i = 37, tokens = 8, sequences = 2;
  const double linear = 2 * tokens * h * 2 * h + 2 * sequences * h * (2 * h + 2 * i);
  const double attention = 2 * 2 * tokens * h;  // one query for each sequence
  EXPECT_DOUBLE_EQ(product_flops(config, small_batch()), 3 * (linear + attention));
}

TEST(Work, MeasuresAPeakThatAProductCanReach) {
  prepare_gemm();
  ThreadPool pool(2, false);
  Stopwatch watch;
  const double peak = measure_gemm_peak(pool, Precision::kFloat32);
  EXPECT_GT(peak, 1e8);   // one slow scalar core
  EXPECT_LT(peak, 1e14);  // more than any two cores do
  EXPECT_LT(watch.lap(), 5.0);
}

TEST(Work, IsReportedForEveryStep) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  const Examples examples = random_examples(24, 20, config.vocab_size, 3, 21);
  run_ranks(2, [&](Ranks& group) {
    ThreadPool pool(1, false);
    Model<float> model(config, pool);
    TrainSettings settings;
    settings.global_batch = 12;
    settings.accumulation = 2;
    settings.optimizer.total_steps = 2;
    std::vector<float> initial(static_cast<std::size_t>(model.layout().total), 0.01F);
    Trainer trainer(model, settings, group, pool, initial);
    const StepWork work = trainer.step(examples).work;
    EXPECT_GT(work.flops, 0);
    EXPECT_GT(work.forward_s, 0);
    EXPECT_GT(work.backward_s, 0);
    EXPECT_GT(work.network_s, 0);
    EXPECT_GT(work.optimizer_s, 0);
    EXPECT_LE(work.forward_s + work.backward_s + work.network_s + work.optimizer_s, work.step_s);
  });
}

}  // namespace
}  // namespace dtl::trainer::work_test
