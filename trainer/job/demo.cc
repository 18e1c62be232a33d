// Data and model are fixed, so the demonstration gives the same numbers everywhere. Texts come from
// data/demo_text.h; fine_tune.h trains as usual.
#include "trainer/job/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/data/demo_text.h"
#include "trainer/init/init_model.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/tasks/load_texts.h"

namespace dtl::trainer {
namespace {

constexpr int kTrainExamples = 6000;
constexpr int kEvaluationExamples = 1000;
ModelConfig demo_model() {
  ModelConfig config;
  config.vocab_size = 300;
  config.hidden_size = 64;
  config.layers = 2;
  config.heads = 4;
  config.intermediate_size = 128;
  config.max_positions = kDemoLength;
  config.initializer_range = 0.08;  // narrow models learn slowly with BERT's 0.02
  config.hidden_dropout = config.attention_dropout = config.classifier_dropout = 0.0;
  return config;
}

}  // namespace

// Picks the label with the highest log P(label) + sum of log P(word | label), with add-one
// smoothing. Scores leave out terms that all labels share.
double bag_of_words_accuracy(const TextDataset& train, const TextDataset& evaluation) {
  std::map<std::string, std::map<std::string, double>> counts;  // word -> label -> occurrences
  std::map<std::string, double> words_of_label, examples_of_label;
  for (const TextExample& example : train.examples) {
    examples_of_label[example.label] += 1;
    for (const std::string& word : split(example.first, ' ')) {
      counts[word][example.label] += 1;
      words_of_label[example.label] += 1;
    }
  }
  double right = 0;
  const auto vocabulary = static_cast<double>(counts.size());
  for (const TextExample& example : evaluation.examples) {
    std::string best;
    double best_score = 0;
    for (const auto& [label, examples] : examples_of_label) {
      double score = std::log(examples);
      for (const std::string& word : split(example.first, ' ')) {
        score += std::log((counts[word][label] + 1) / (words_of_label[label] + vocabulary));
      }
      if (best.empty() || score > best_score) {
        best = label;
        best_score = score;
      }
    }
    if (best == example.label) right += 1;
  }
  return right / static_cast<double>(evaluation.examples.size());
}

Prepared prepare_demo(const Settings& settings) {
  // The first argument is the generator's seed: training and evaluation need different texts.
  const TextDataset train = make_demo_text(1, kTrainExamples);
  const TextDataset evaluation = make_demo_text(2, kEvaluationExamples);
  const auto seed = static_cast<std::uint64_t>(settings.seed);
  // Learn the vocabulary from the training texts only, as for a user's data.
  NewModel model = make_model(train, demo_model(), true, seed);
  Prepared prepared;
  prepared.config = model.config;
  prepared.parameters = arrange_parameters(std::move(model.weights), "demonstration", model.config,
                                           layout_parameters(model.config), {seed, false})
                            .values;
  const int threads = default_threads();
  const std::vector<std::string>& labels = model.config.labels;
  prepared.train = encode_dataset(train, model.tokenizer, labels, kDemoLength, threads);
  prepared.length = kDemoLength;
  prepared.evaluation.emplace_back().examples =
      encode_dataset(evaluation, model.tokenizer, labels, kDemoLength, threads);
  prepared.evaluation.front().texts = report_texts(settings, evaluation);
  prepared.notices = {
      fmt::format("demonstration on built-in text, e.g. \"{}\": {}", train.examples[0].first,
                  train.examples[0].label),
      fmt::format("counting words alone (naive Bayes) gets an accuracy of {:.4f}: the model has to "
                  "relate each negation to its word",
                  bag_of_words_accuracy(train, evaluation))};
  prepared.tokenizer = std::move(model.tokenizer);
  return prepared;
}

}  // namespace dtl::trainer
