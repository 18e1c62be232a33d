// Training steps of an encoder with random weights, as dttrain runs them: a classifier of texts,
// with one label each or any number, or of tokens; or a masked language model. train.py runs this
// and the same steps in PyTorch.
// usage: train_steps EXAMPLES TYPE LAYERS VOCABULARY BATCH STEPS THREADS float32|bf16
// [texts|tokens|multi_label|masked [HIDDEN]]
//
// EXAMPLES has a line "label id id ..." for each text; a token's label follows from its id, and the
// bits of a text's label are its several labels. Prints
// one JSON object: for each step the seconds of its parts, its tokens and products, and the mean of
// the gemm peaks just before and after it; and peak memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/random_model.h"
#include "trainer/families/model_family.h"
#include "trainer/maths/gemm_bf16.h"
#include "trainer/step/trainer.h"

namespace {

using namespace dtl::trainer;
using dtl::bench::random_weights;

constexpr int kClasses = 8;

// [MASK] of BERT's vocabulary; 15 % of the tokens but the first and the last of a text.
MaskingRule masking_rule(int vocabulary) {
  MaskingRule rule{.probability = 0.15, .whole_words = false, .mask_token = 103, .kinds = {}};
  rule.kinds.assign(static_cast<std::size_t>(vocabulary), TokenKind::kBegins);
  for (const std::size_t special : {0, 101, 102, 103}) rule.kinds[special] = TokenKind::kSpecial;
  return rule;
}

// The bits of 37 * label: about half of the labels.
void add_targets(std::int32_t label, Examples& examples) {
  for (int i = 0; i < kClasses; ++i) {
    examples.targets.push_back(static_cast<float>((37 * (label + 1)) >> i & 1));
  }
}

Examples read_examples(const std::string& path, const std::string& task, int vocabulary) {
  Examples examples;
  examples.starts.push_back(0);
  if (task == "masked") examples.masking = masking_rule(vocabulary);
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::int32_t label = 0, id = 0;
    words >> label;
    while (words >> id) {
      examples.ids.push_back(id);
      examples.types.push_back(0);
    }
    const auto begin = static_cast<std::size_t>(examples.starts.back());
    examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
    if (task == "texts") examples.labels.push_back(label);
    if (task == "multi_label") add_targets(label, examples);
    if (task != "tokens") continue;
    for (std::size_t t = begin; t < examples.ids.size(); ++t) {
      const bool special = t == begin || t + 1 == examples.ids.size();
      examples.token_labels.push_back(special ? kNoLabel : examples.ids[t] % kClasses);
    }
  }
  return examples;
}

ModelConfig configuration(const std::string& type, int layers, int vocabulary,
                          const std::string& task, int hidden) {
  ModelConfig config;
  if (task == "tokens") config.task = Task::kTokenClassification;
  if (task == "masked") config.task = Task::kMaskedLm;
  if (task == "multi_label") config.problem = Problem::kMultiLabel;
  config.type = type_named(type).value();
  if (const auto make_new = family_of(config).make_new) make_new(config);
  config.max_positions = 512 + first_position(config);
  config.layers = layers;
  config.vocab_size = vocabulary;
  config.hidden_size = hidden;
  config.heads = hidden / 64;
  config.intermediate_size = 4 * hidden;
  if (is_pre_norm(config)) {  // as ModernBertConfig
    config.intermediate_size = hidden * 3 / 2;
    config.max_positions = 8192;
    config.hidden_dropout = config.attention_dropout = config.classifier_dropout = 0;
  }
  for (int i = 0; i < kClasses; ++i) config.labels.push_back(std::to_string(i));
  return config;
}

double expected_loss(const std::string& task, const ModelConfig& config) {
  if (task == "multi_label") return std::log(2.0);
  return std::log(task == "masked" ? config.vocab_size : kClasses);
}

// peak: operations per second.
std::string step_text(const StepReport& report, double peak) {
  const StepWork& work = report.work;
  return fmt::format(
      R"({{"tokens": {}, "loss": {:.5f}, "flops": {:.6g}, "forward": {:.6f}, "backward": {:.6f}, )"
      R"("optimizer": {:.6f}, "seconds": {:.6f}, "peak": {:.6g}}})",
      report.tokens, report.loss, work.flops, work.forward_s, work.backward_s, work.optimizer_s,
      work.step_s, peak);
}

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int run(const std::vector<std::string>& arguments) {
  const std::string task = arguments.size() > 8 ? arguments[8] : "texts";
  const Examples examples = read_examples(arguments[0], task, std::stoi(arguments[3]));
  const ModelConfig config =
      configuration(arguments[1], std::stoi(arguments[2]), std::stoi(arguments[3]), task,
                    arguments.size() > 9 ? std::stoi(arguments[9]) : 768);
  const int steps = std::stoi(arguments[5]);
  TrainSettings settings;
  settings.global_batch = std::stoi(arguments[4]);
  settings.total_steps = steps;
  settings.optimizer.learning_rate = 2e-5;
  settings.optimizer.weight_decay = 0.01;
  settings.optimizer.total_steps = steps;
  const bool bf16 = arguments[7] == "bf16";
  if (bf16 && !bf16_support().available) {
    std::cerr << "train_steps: no bf16: " << bf16_support().reason << "\n";
    return 2;
  }
  const Precision precision = bf16 ? Precision::kBf16 : Precision::kFloat32;
  prepare_gemm();
  Ranks group;
  ThreadPool pool(std::stoi(arguments[6]), true);
  Model<float> model(config, pool);
  model.set_precision(precision);
  Trainer trainer(model, settings, group, pool, random_weights(model.layout()));
  double before = measure_gemm_peak(pool, precision);
  std::string text;
  for (int i = 0; i < steps; ++i) {
    const StepReport report = trainer.step(examples);
    // What there is to learn is random: a loss far from a guess's is wrong. New ModernBERT models
    // have logits of deviation 1, and a step may have two texts.
    if (std::abs(report.loss - expected_loss(task, config)) > (is_pre_norm(config) ? 3.0 : 1.0)) {
      std::cerr << "train_steps: the loss is " << report.loss << "\n";
      return 1;
    }
    // A machine's speed changes over time, so measure the peak right before and after the step.
    const double after = measure_gemm_peak(pool, precision);
    text += (i > 0 ? ", " : "") + step_text(report, (before + after) / 2);
    before = after;
  }
  std::cout << fmt::format(R"({{"gemm": "{}", "kib": {}, "steps": [{}]}})"
                           "\n",
                           gemm_kernel_name(), peak_kib(), text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9 || argc > 11) {
    std::cerr << "usage: train_steps EXAMPLES TYPE LAYERS VOCABULARY BATCH STEPS THREADS "
                 "float32|bf16 [texts|tokens|multi_label|masked [HIDDEN]]\n";
    return 64;
  }
  return run({argv + 1, argv + argc});
}
