#include "trainer/step/evaluate.h"

#include <gtest/gtest.h>

#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/families/task_head.h"

namespace dtl::trainer::evaluate_test {
namespace {

constexpr int kExamples = 11;  // not a multiple of ranks times batch

ModelConfig config_for(Task task) {
  ModelConfig config = tiny_config(ModelType::kDistilBert);
  config.task = task;
  if (task == Task::kQuestionAnswering) config.labels.clear();
  return config;
}

// What the model gives for one example alone.
std::vector<float> alone(Model<float>& model, const std::vector<float>& parameters,
                         const Examples& examples, std::int64_t example) {
  const std::vector<std::int64_t> chosen = {example};
  const Batch batch = make_batch(examples, chosen);
  const float* logits = model.forward(parameters.data(), batch, nullptr);
  const std::int64_t rows = output_rows(model.config(), batch);
  return {logits, logits + rows * output_count(model.config())};
}

void expect_each_alone(Task task, int ranks) {
  const ModelConfig config = config_for(task);
  const Examples examples = random_examples_for(config, kExamples, 9, 5);
  const auto parameters = random_parameters<float>(layout_parameters(config), 6);
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(1, false);
    Model<float> model(config, pool);
    const std::vector<float> all = predict(model, parameters, examples, 2, group);
    std::size_t at = 0;
    for (std::int64_t i = 0; i < kExamples; ++i) {
      for (const float expected : alone(model, parameters, examples, i)) {
        ASSERT_LT(at, all.size());
        EXPECT_NEAR(all[at++], expected, 1e-5) << "example " << i;
      }
    }
    EXPECT_EQ(at, all.size());
  });
}

TEST(Evaluate, GivesEachExampleItsOwnLogitsOnAnyNumberOfRanks) {
  for (const int ranks : {1, 3}) expect_each_alone(Task::kClassification, ranks);
}

TEST(Evaluate, GivesEachTokenItsOwnLogitsOnAnyNumberOfRanks) {
  for (const Task task : {Task::kQuestionAnswering, Task::kTokenClassification}) {
    for (const int ranks : {1, 3}) expect_each_alone(task, ranks);
  }
}

}  // namespace
}  // namespace dtl::trainer::evaluate_test
