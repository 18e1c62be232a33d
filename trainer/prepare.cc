#include "trainer/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "trainer/checkpoint.h"
#include "trainer/dataset.h"
#include "trainer/demo.h"
#include "trainer/thread_pool.h"

namespace dtl::trainer {
namespace {

// LABEL_0, LABEL_1, ..: names that nobody chose.
bool is_generic(const std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != fmt::format("LABEL_{}", i)) return false;
  }
  return true;
}

// The labels of the data, in the model's order where the model has the same ones.
std::vector<std::string> choose_labels(const std::vector<std::string>& model,
                                       std::vector<std::string> data) {
  std::vector<std::string> sorted = model;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> data_sorted = data;
  std::sort(data_sorted.begin(), data_sorted.end());
  return sorted == data_sorted ? model : data;
}

struct Texts {
  TextDataset train, evaluation, test;
};

Texts read_texts(const Settings& s) {
  Texts texts;
  if (s.do_train) texts.train = read_dataset(s.train_file, s.max_train_samples);
  if (s.do_eval) texts.evaluation = read_dataset(s.validation_file, s.max_eval_samples);
  if (s.do_predict) texts.test = read_dataset(s.test_file, -1);
  return texts;
}

void choose_labels(const Settings& s, const Texts& texts, ModelConfig& config) {
  if (s.do_train) {
    config.labels = choose_labels(config.labels, label_names(texts.train));
  } else if (s.do_eval && is_generic(config.labels)) {
    const std::vector<std::string> names = label_names(texts.evaluation);
    if (names.size() == config.labels.size()) config.labels = names;
  }
  if (config.labels.size() < 2) {
    throw Error(Exit::kBadInput,
                fmt::format("{}: cannot classify", s.do_train ? s.train_file : s.model),
                fmt::format("there are fewer than two labels ({})", join(config.labels, ", ")));
  }
}

int usable_length(const Settings& s, const ModelConfig& config, std::vector<std::string>& notices) {
  if (s.max_seq_length <= config.max_positions) return s.max_seq_length;
  notices.push_back(
      fmt::format("--max_seq_length {} is more than the model has positions: using {}",
                  s.max_seq_length, config.max_positions));
  return config.max_positions;
}

void load_weights(const Settings& s, Prepared& prepared) {
  const ParameterLayout layout = layout_parameters(prepared.config);
  LoadedParameters loaded =
      load_parameters(s.model, prepared.config, layout,
                      {static_cast<std::uint64_t>(s.seed), s.ignore_mismatched_sizes});
  prepared.parameters = std::move(loaded.values);
  if (!loaded.fresh.empty()) {
    prepared.notices.push_back(
        fmt::format("newly initialised (not in {}): {}", s.model, join(loaded.fresh, ", ")));
  }
  if (!loaded.unused.empty()) {
    prepared.notices.push_back(
        fmt::format("not used from {}: {}", s.model, join(loaded.unused, ", ")));
  }
}

// The labels of a test file may be anything.
Examples encode_unlabelled(TextDataset texts, const Tokenizer& tokenizer,
                           const std::vector<std::string>& labels, int length, int threads) {
  for (TextExample& example : texts.examples) example.label = labels.front();
  return encode_dataset(texts, tokenizer, labels, length, threads);
}

}  // namespace

Prepared prepare(const Settings& s) {
  if (s.demo) return prepare_demo(s);
  Prepared prepared;
  ModelConfig& config = prepared.config;
  config = read_model_config(s.model);
  prepared.tokenizer = Tokenizer::load(s.model);
  const Tokenizer& tokenizer = *prepared.tokenizer;
  if (tokenizer.vocabulary_size() > config.vocab_size) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the vocabulary", s.model),
                fmt::format("it has {} tokens, the model's vocab_size is {}",
                            tokenizer.vocabulary_size(), config.vocab_size));
  }
  const Texts texts = read_texts(s);
  choose_labels(s, texts, config);
  const int length = usable_length(s, config, prepared.notices);
  const int threads = default_threads();
  if (s.do_train) {
    prepared.train = encode_dataset(texts.train, tokenizer, config.labels, length, threads);
  }
  if (s.do_eval) {
    prepared.evaluation =
        encode_dataset(texts.evaluation, tokenizer, config.labels, length, threads);
  }
  if (s.do_predict) {
    prepared.test = encode_unlabelled(texts.test, tokenizer, config.labels, length, threads);
  }
  load_weights(s, prepared);
  return prepared;
}

}  // namespace dtl::trainer
