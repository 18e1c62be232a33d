#include "trainer/job/load_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/job/demo.h"
#include "trainer/job/load_texts.h"

namespace dtl::trainer {
namespace {

int usable_length(const Settings& s, const ModelConfig& config, std::vector<std::string>& notices) {
  if (s.max_seq_length <= config.max_positions) return s.max_seq_length;
  notices.push_back(
      fmt::format("--max_seq_length {} is more than the model has positions: using {}",
                  s.max_seq_length, config.max_positions));
  return config.max_positions;
}

// Second texts have type 1.
void check_types(const Settings& s, const Prepared& prepared) {
  const ModelConfig& config = prepared.config;
  if (config.type != ModelType::kBert || config.type_vocab_size > 1) return;
  const auto check = [&](const Examples& examples) {
    const auto first = [](std::int8_t type) { return type == 0; };
    if (std::all_of(examples.types.begin(), examples.types.end(), first)) return;
    throw Error(Exit::kBadInput, fmt::format("{}: cannot read pairs of texts", s.model),
                fmt::format("the model's type_vocab_size is {}", config.type_vocab_size));
  };
  check(prepared.train);
  for (const Questioned& set : prepared.evaluation) check(set.examples);
  for (const Questioned& set : prepared.test) check(set.examples);
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
  prepared.length = usable_length(s, config, prepared.notices);
  config.task = s.task == "qa" ? Task::kQuestionAnswering : Task::kClassification;
  if (config.task == Task::kQuestionAnswering) {
    prepare_answers(s, prepared);
  } else {
    prepare_classification(s, prepared);
  }
  check_types(s, prepared);
  load_weights(s, prepared);
  return prepared;
}

}  // namespace dtl::trainer
