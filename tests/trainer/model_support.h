#pragma once
// Small models and data sets for the trainer's tests.

#include <array>
#include <random>

#include "trainer/data/examples.h"
#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/layers/parameters.h"

namespace dtl::trainer {

// One of each kind of encoder; others differ from these in names only.
inline constexpr std::array kEveryType = {
    ModelType::kBert,  ModelType::kDistilBert, ModelType::kRoberta,   ModelType::kElectra,
    ModelType::kMPNet, ModelType::kDebertaV2,  ModelType::kModernBert};

inline ModelConfig tiny_config(ModelType type, int classes = 3) {
  ModelConfig config;
  config.type = type;
  config.vocab_size = 40;
  config.hidden_size = 24;
  if (type == ModelType::kElectra) config.embedding_size = 10;
  config.layers = 2;
  config.heads = 3;
  config.intermediate_size = 37;
  config.max_positions = 32;
  if (const auto make_new = family_of(type).make_new) make_new(config);
  for (int i = 0; i < classes; ++i) config.labels.push_back(std::to_string(i));
  return config;
}

// Lengths from 1 to max_length, odd ones too.
inline Examples random_examples(int count, int max_length, int vocabulary, int classes,
                                unsigned seed) {
  std::mt19937 random(seed);
  Examples examples;
  examples.starts.push_back(0);
  for (int i = 0; i < count; ++i) {
    const int length = 1 + static_cast<int>(random() % static_cast<unsigned>(max_length));
    for (int j = 0; j < length; ++j) {
      examples.ids.push_back(1 +
                             static_cast<int>(random() % static_cast<unsigned>(vocabulary - 1)));
      examples.types.push_back(static_cast<std::int8_t>(j > length / 2));
    }
    examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
    examples.labels.push_back(static_cast<int>(random() % static_cast<unsigned>(classes)));
  }
  return examples;
}

// The same texts with what a model of this configuration learns: labels, targets, answers or labels
// of tokens.
inline Examples random_examples_for(const ModelConfig& config, int count, int max_length,
                                    unsigned seed) {
  const auto outputs = static_cast<int>(output_count(config));
  Examples examples = random_examples(count, max_length, config.vocab_size, outputs, seed);
  std::mt19937 random(seed + 1);
  const auto below = [&random](std::int64_t limit) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(limit));
  };
  if (config.task == Task::kQuestionAnswering) {
    for (std::size_t i = 0; i < examples.labels.size(); ++i) {
      const std::int64_t length = examples.starts[i + 1] - examples.starts[i];
      examples.answer_starts.push_back(below(length));
      examples.answer_ends.push_back(below(length));
    }
    examples.labels.clear();
  } else if (config.task == Task::kTokenClassification) {
    // About half of the tokens have a label; every fifth text has none.
    for (std::size_t i = 0; i < examples.labels.size(); ++i) {
      for (std::int64_t t = examples.starts[i]; t < examples.starts[i + 1]; ++t) {
        const bool labelled = i % 5 != 0 && below(2) == 0;
        examples.token_labels.push_back(labelled ? below(outputs) : kNoLabel);
      }
    }
    examples.labels.clear();
  } else if (config.problem != Problem::kSingleLabel) {
    const bool number = config.problem == Problem::kRegression;
    for (int i = 0; i < count * outputs; ++i) {
      examples.targets.push_back(number ? static_cast<float>(below(100)) / 20 - 2
                                        : static_cast<float>(below(2)));
    }
    examples.labels.clear();
  }
  return examples;
}

// Every parameter random, biases too, so that no gradient is zero by accident.
template <class S>
std::vector<S> random_parameters(const ParameterLayout& layout, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, 0.3);
  std::vector<S> values(static_cast<std::size_t>(layout.total));
  for (const ParameterInfo& tensor : layout.tensors) {
    for (std::int64_t i = 0; i < tensor.count; ++i) {
      const double centre = tensor.initial == InitialValue::kOne ? 1.0 : 0.0;
      values[static_cast<std::size_t>(tensor.offset + i)] = static_cast<S>(centre + normal(random));
    }
  }
  return values;
}

inline std::vector<std::int64_t> first_indices(std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i);
  return indices;
}

}  // namespace dtl::trainer
