#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checkpoint_writer.h"
#include "trainer/checkpoint/saved_state.h"
#include "trainer/files/safetensors.h"

namespace dtl::trainer::resume_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSteps = 18, kSaved = 8;  // epochs have 5 steps, the last one of 2 examples

struct RunSetup {
  ModelConfig config = tiny_config(ModelType::kBert);
  Examples examples = random_examples(50, 20, config.vocab_size, 3, 21);
  TrainSettings settings;

  explicit RunSetup(OptimizerKind kind = OptimizerKind::kAdamTorch) {
    settings.global_batch = 12;
    settings.accumulation = 2;
    settings.total_steps = kSteps;
    settings.optimizer.kind = kind;
    settings.optimizer.momentum = kind == OptimizerKind::kSgd ? 0.9 : 0;
    settings.optimizer.schedule = Schedule::kCosine;
    settings.optimizer.learning_rate = 1e-3;
    settings.optimizer.weight_decay = 0.01;
    settings.optimizer.total_steps = kSteps;
    settings.optimizer.warmup_steps = 3;
  }
  Precision precision = Precision::kFloat32;
  LossSettings loss = {};
  RunIdentity identity() const {
    ThreadPool pool(1, false);
    return identity_of(Model<float>(config, pool, loss), settings, examples, precision);
  }
};

// The states of a run, on rank 0, from step to step.
struct Trace {
  std::map<std::int64_t, double> losses;
  std::map<std::int64_t, TrainingState> states;
};

void go_on(
    Trainer& trainer, const Examples& examples, int rank, Trace& trace,
    const std::function<void()>& after_step = [] {}) {
  while (trainer.steps_done() < kSteps) {
    const StepReport report = trainer.step(examples);
    if (rank == 0) {
      trace.losses[report.step] = report.loss;
      trace.states[report.step] = trainer.state();
      after_step();
    }
  }
}

Trace run_saving(const RunSetup& setup, const std::string& output, int ranks, int threads) {
  Trace trace;
  run_ranks(ranks, [&](Ranks& group) {
    std::optional<CheckpointWriter> writer;
    if (group.rank() == 0) {
      writer.emplace(output, setup.config, std::nullopt, setup.settings.optimizer);
    }
    ThreadPool pool(threads, false);
    Model<float> model(setup.config, pool, setup.loss);
    Trainer trainer(model, setup.settings, group, pool,
                    random_parameters<float>(model.layout(), 3));
    go_on(trainer, setup.examples, group.rank(), trace, [&] {
      if (trainer.steps_done() != kSaved) return;
      writer->start(trainer.state(), {setup.identity(), "{}"}, pool);
    });
    if (writer) writer->finish();
  });
  return trace;
}

Trace run_resumed(const RunSetup& setup, const std::string& output, int ranks, int threads) {
  Trace trace;
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(threads, false);
    Model<float> model(setup.config, pool, setup.loss);
    TrainingState state;
    if (group.rank() == 0) {
      state = read_training_state(*find_last_checkpoint(output), model.layout(), setup.identity());
    }
    share_training_state(group, model.layout(), setup.settings.optimizer, state);
    Trainer trainer(model, setup.settings, group, pool, std::move(state));
    EXPECT_EQ(trainer.steps_done(), kSaved);
    go_on(trainer, setup.examples, group.rank(), trace);
    trainer.verify_parameters();
  });
  return trace;
}

void expect_same_bits(const RunSetup& setup, int ranks) {
  const TemporaryFolder folder;
  const Trace whole = run_saving(setup, folder.path(), ranks, 2);
  const Trace rest = run_resumed(setup, folder.path(), ranks, 2);
  ASSERT_EQ(rest.losses.size(), static_cast<std::size_t>(kSteps - kSaved));
  for (const auto& [step, loss] : rest.losses) {
    EXPECT_EQ(loss, whole.losses.at(step)) << "step " << step;
    EXPECT_EQ(rest.states.at(step).parameters, whole.states.at(step).parameters);
    EXPECT_EQ(rest.states.at(step).m, whole.states.at(step).m);
    EXPECT_EQ(rest.states.at(step).v, whole.states.at(step).v);
  }
}

TEST(Resume, GoesOnWithTheSameBitsAsIfItHadNeverStopped) {
  for (const OptimizerKind kind :
       {OptimizerKind::kAdamTorch, OptimizerKind::kAdamHuggingFace, OptimizerKind::kSgd,
        OptimizerKind::kAdafactor, OptimizerKind::kLion}) {
    for (const int ranks : {1, 3}) expect_same_bits(RunSetup(kind), ranks);
  }
}

TEST(Resume, GoesOnWithTheSameBitsInEveryFamily) {
  for (const ModelType type : kEveryType) {
    RunSetup setup;
    setup.config = tiny_config(type);
    expect_same_bits(setup, 3);
  }
}

// Scored pairs, with dropout.
RunSetup setup_of_embeddings() {
  RunSetup setup;
  setup.config.task = Task::kEmbeddings;
  setup.config.labels.clear();
  setup.config.embedding.dense = {{.outputs = 9}};
  setup.examples.labels.clear();
  setup.examples.texts = 2;
  for (int i = 0; i < 25; ++i) setup.examples.targets.push_back(static_cast<float>(i % 5) / 4);
  setup.loss.embedding = {.kind = EmbeddingLoss::kCosent, .dimensions = {9, 4}};
  return setup;
}

TEST(Resume, GoesOnWithTheSameBitsWithALossOfAllExamplesTogether) {
  for (const int ranks : {1, 3}) expect_same_bits(setup_of_embeddings(), ranks);
}

TEST(Resume, GoesOnWithAnotherNumberOfRanksButForRounding) {
  const TemporaryFolder folder;
  const RunSetup setup;
  const Trace whole = run_saving(setup, folder.path(), 2, 1);
  for (const int ranks : {1, 4}) {
    const Trace rest = run_resumed(setup, folder.path(), ranks, 1);
    for (const auto& [step, loss] : rest.losses) {
      EXPECT_NEAR(loss, whole.losses.at(step), 1e-5) << "step " << step;
    }
    const TrainingState &a = rest.states.at(kSteps), &b = whole.states.at(kSteps);
    double worst = 0;
    for (const ParameterInfo& tensor : layout_parameters(setup.config).tensors) {
      // The gradient of a key's bias is nothing but rounding, which Adam scales up.
      if (tensor.name.ends_with("key.bias")) continue;
      for (auto i = static_cast<std::size_t>(tensor.offset);
           i < static_cast<std::size_t>(tensor.offset + tensor.count); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(a.parameters[i] - b.parameters[i])));
      }
    }
    EXPECT_LT(worst, 1e-5) << ranks << " ranks";
  }
}

// A checkpoint of random numbers.
struct Saved {
  TemporaryFolder folder;
  RunSetup setup;
  ParameterLayout layout = layout_parameters(setup.config);
  TrainingState state;

  explicit Saved(RunSetup given = RunSetup()) : setup(std::move(given)) {
    state.step = 7;
    state.parameters = random_parameters<float>(layout, 1);
    state.m = random_parameters<float>(layout, 2);
    state.v = random_parameters<float>(layout, 3);
    write_training_state(folder.path(), setup.config, layout, setup.identity(), state);
  }
  TrainingState read() const {
    return read_training_state(folder.path(), layout, setup.identity());
  }
  std::string complaint() const {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr(folder.path()));
      return error.what();
    }
    return "";
  }
  void replace(const std::string& from, const std::string& to) {
    std::string text = read_file(folder.file("training_state.json"), 1 << 20);
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
    folder.write("training_state.json", text);
  }
};

TEST(SavedState, IsReadAsItWasWritten) {
  const Saved saved;
  const TrainingState again = saved.read();
  EXPECT_EQ(again.step, 7);
  EXPECT_EQ(again.parameters, saved.state.parameters);
  EXPECT_EQ(again.m, saved.state.m);
  EXPECT_EQ(again.v, saved.state.v);
}

TEST(SavedState, NamesEverythingInWhichARunDiffers) {
  Saved saved;
  saved.setup.settings.seed = 1;
  saved.setup.settings.optimizer.learning_rate = 2e-5;
  saved.setup.settings.optimizer.kind = OptimizerKind::kAdamHuggingFace;
  const std::string text = saved.complaint();
  EXPECT_THAT(text, HasSubstr("cannot resume: this run differs from that of the checkpoint"));
  EXPECT_THAT(text, HasSubstr("seed was 42 and is 1"));
  EXPECT_THAT(text, HasSubstr("learning_rate was 0.001 and is 2e-05"));
  EXPECT_THAT(text, HasSubstr("optim was adamw_torch and is adamw_hf"));
}

TEST(SavedState, NoticesAnotherLossOfEmbeddings) {
  Saved saved(setup_of_embeddings());
  EXPECT_EQ(saved.complaint(), "");
  saved.setup.loss.embedding.margin = 1;  // of triplets only
  EXPECT_EQ(saved.complaint(), "");
  saved.setup.loss.embedding.scale = 0.05;
  EXPECT_THAT(saved.complaint(),
              HasSubstr("the loss was 'cosent, scale 20, dimensions 9 4, mean pooling' and is "
                        "'cosent, scale 0.05, dimensions 9 4, mean pooling'"));
}

TEST(SavedState, NoticesAnotherScheduleOrMomentum) {
  Saved saved;
  saved.setup.settings.optimizer.shape.cycles = 2;
  EXPECT_THAT(saved.complaint(), HasSubstr("lr_scheduler_kwargs differ"));
  saved.replace("\"schedule_cycles\": 0.5", "\"schedule_cycles\": 2.0");
  EXPECT_EQ(saved.complaint(), "");
  saved.setup.settings.optimizer.frozen_layers = 1;
  EXPECT_THAT(saved.complaint(), HasSubstr("was 0 and is 1. Try: --freeze_layers 0"));
  saved.setup.settings.optimizer.momentum = 0.5;
  EXPECT_THAT(saved.complaint(), HasSubstr("momentum (--optim_args) was 0 and is 0.5"));
  saved.setup.settings.optimizer.frozen_layers = 0;
  saved.replace("\"schedule_decay_type\": \"cosine\"", "\"schedule_decay_type\": \"wave\"");
  EXPECT_THAT(saved.complaint(), HasSubstr("'schedule_decay_type' is 'wave'"));
}

TEST(SavedState, OfOlderCheckpointsHasTheScheduleOfItsTime) {
  Saved saved;
  std::string text = read_file(saved.folder.file("training_state.json"), 1 << 20);
  for (std::size_t at = text.find("\"schedule_"); at != text.npos; at = text.find("\"schedule_")) {
    text.erase(at, text.find('\n', at) + 1 - at);
  }
  saved.folder.write("training_state.json", text);
  EXPECT_EQ(saved.read().step, 7);
}

TEST(SavedState, NoticesOtherDataAndOtherBatches) {
  Saved saved;
  saved.setup.settings.global_batch = 13;
  EXPECT_THAT(saved.complaint(), HasSubstr("the global batch was 12 and is 13"));
  saved.setup.settings.global_batch = 12;
  saved.setup.settings.drop_last = true;
  EXPECT_THAT(saved.complaint(), HasSubstr("examples of an epoch was 50 and is 48"));
  saved.setup.settings.drop_last = false;
  ++saved.setup.examples.ids[5];
  EXPECT_THAT(saved.complaint(), HasSubstr("the training data or its tokenization"));
  saved.setup.examples = random_examples(51, 20, 40, 3, 21);
  EXPECT_THAT(saved.complaint(), HasSubstr("the number of examples was 50 and is 51"));
}

TEST(SavedState, NoticesAnotherPrecision) {
  Saved saved;
  EXPECT_EQ(saved.complaint(), "");
  saved.setup.precision = Precision::kBf16;
  EXPECT_THAT(saved.complaint(), HasSubstr("the precision (--bf16) was fp32 and is bf16"));
  saved.replace("\"fp32\"", "\"bf16=emulate\"");
  EXPECT_THAT(saved.complaint(), HasSubstr("was bf16=emulate and is bf16"));
  saved.replace("\"bf16=emulate\"", "\"fp7\"");
  EXPECT_THAT(saved.complaint(), HasSubstr("training_state.json: cannot resume: 'precision' is"));
}

TEST(SavedState, NoticesAnotherOrderOfTheExamples) {
  Saved saved;
  saved.setup.settings.data_seed = 42;  // the seed's
  EXPECT_EQ(saved.complaint(), "");
  saved.setup.settings.data_seed = 7;
  EXPECT_THAT(saved.complaint(), HasSubstr("data_seed was 42 and is 7"));
  saved.replace("\n  \"optim\"", "\n  \"data_seed\": 7,\n  \"optim\"");
  EXPECT_EQ(saved.complaint(), "");
  saved.setup.settings.data_seed.reset();
  EXPECT_THAT(saved.complaint(), HasSubstr("data_seed was 7 and is 42"));
}

TEST(SavedState, NoticesAnotherGradientWire) {
  Saved saved;
  saved.setup.settings.gradient_wire = DT_WIRE_BF16;
  EXPECT_THAT(saved.complaint(), HasSubstr("gradient_wire was f32 and is bf16"));
  saved.replace("\"gradient_wire\": \"f32\"", "\"gradient_wire\": \"f16\"");
  EXPECT_THAT(saved.complaint(), HasSubstr("gradient_wire was f16 and is bf16"));
  saved.setup.settings.gradient_wire = DT_WIRE_F16;
  EXPECT_EQ(saved.complaint(), "");
  saved.replace("\"f16\"", "\"f8\"");
  EXPECT_THAT(saved.complaint(), HasSubstr("cannot resume: 'gradient_wire' is 'f8'"));
}

TEST(SavedState, OfAnyPrecisionIsTakenWhereItDoesNotSay) {
  Saved saved;
  saved.replace("\n  \"precision\": \"fp32\",", "");
  for (const Precision precision : {Precision::kFloat32, Precision::kBf16Emulated}) {
    saved.setup.precision = precision;
    EXPECT_EQ(saved.read().step, 7);
  }
}

TEST(SavedState, LetsARunGrowLonger) {
  RunIdentity a = RunSetup().identity(), b = a;
  b.optimizer.total_steps = 1000;
  EXPECT_TRUE(differences(a, b).empty());
  EXPECT_THAT(differences(b, a), ElementsAre("the number of steps was 1000 and is 18"));
  a.optimizer.schedule = b.optimizer.schedule = Schedule::kConstantWithWarmup;
  EXPECT_TRUE(differences(b, a).empty());
}

TEST(SavedState, LetsTheWarmupOfALongerRunGrowWhereItIsAShare) {
  RunIdentity a = RunSetup().identity(), b = a;
  a.optimizer.warmup_share = b.optimizer.warmup_share = 0.15;  // 3 of 18
  b.optimizer.total_steps = 100;
  b.optimizer.warmup_steps = 15;
  EXPECT_TRUE(differences(a, b).empty());
  b.optimizer.warmup_share = 0;
  EXPECT_THAT(differences(a, b), ElementsAre("warmup_steps was 3 and is 15"));
  b.optimizer.warmup_share = 0.2;
  EXPECT_EQ(differences(a, b).size(), 1U);
}

TEST(SavedState, KnowsTheLoss) {
  RunIdentity a = RunSetup().identity(), b = a;
  b.label_weights = {0.5, 2};
  b.focal_gamma = 2;
  b.label_smoothing = 0.1;
  EXPECT_THAT(differences(a, b),
              ElementsAre("label_smoothing_factor was 0 and is 0.1", "focal_gamma was 0 and is 2",
                          "label_weights were none and are 0.5, 2"));
  a.label_smoothing.reset();  // an older checkpoint
  b.focal_gamma = 0;
  b.label_weights.clear();
  EXPECT_TRUE(differences(a, b).empty());
}

TEST(SavedState, NamesFileAndKeyOfDamage) {
  Saved saved;
  saved.replace("\"step\": 7", "\"step\": \"x\"");
  EXPECT_THAT(saved.complaint(), HasSubstr("training_state.json: cannot resume: 'step'"));
  saved.replace("\"step\": \"x\"", "\"step\": -7");
  EXPECT_THAT(saved.complaint(), HasSubstr("'step' is negative"));
  saved.replace("\"format\": 1", "\"format\": 9");
  EXPECT_THAT(saved.complaint(), HasSubstr("its format is 9"));
  saved.replace("\"format\": 9", "\"format\": " + std::string(100'000, '['));
  EXPECT_THAT(saved.complaint(), HasSubstr("nest too deep"));
  saved.replace("{", "");
  saved.replace(std::string(100'000, '['), "1");
  EXPECT_THAT(saved.complaint(), HasSubstr("training_state.json:2:11: cannot resume: it is not"));
  std::filesystem::remove(saved.folder.file("training_state.json"));
  EXPECT_THAT(saved.complaint(), HasSubstr("not a checkpoint of dttrain"));
}

TEST(SavedState, NamesFileAndTensorOfDamage) {
  const Saved saved;
  const std::string path = saved.folder.file("optimizer.safetensors");
  TensorMap tensors = read_safetensors(path);
  tensors["exp_avg.classifier.bias"] = {{1}, {0}};
  write_safetensors(path, tensors);
  EXPECT_THAT(saved.complaint(), HasSubstr("optimizer.safetensors: tensor exp_avg.classifier.bias: "
                                           "it is not of type F32 and shape [3]"));
  tensors.erase("exp_avg.classifier.bias");
  write_safetensors(path, tensors);
  EXPECT_THAT(saved.complaint(), HasSubstr("exp_avg.classifier.bias: it is missing"));
  std::filesystem::resize_file(path, 1000);
  EXPECT_THAT(saved.complaint(), HasSubstr("optimizer.safetensors: cannot read the tensors"));
  std::filesystem::remove(path);
  EXPECT_THAT(saved.complaint(),
              HasSubstr("optimizer.safetensors: cannot read the tensors: No such"));
}

}  // namespace
}  // namespace dtl::trainer::resume_test
