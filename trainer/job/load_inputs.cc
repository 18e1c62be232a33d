// The inputs that all tasks need: model, tokenizer, lengths and weights. The task reads the data
// sets.
#include "trainer/job/load_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/families/model_family.h"
#include "trainer/job/demo.h"
#include "trainer/job/hub_cache.h"
#include "trainer/settings/task_rules.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

// Exceeding either limit is not an error: longer texts are truncated anyway. A notice tells the
// length.
int usable_length(const Settings& s, const ModelConfig& config, const Tokenizer& tokenizer,
                  std::vector<std::string>& notices) {
  const bool any = s.max_seq_length == 0;
  int length = any ? longest_text(config) : s.max_seq_length;
  const auto limit = [&](std::int64_t most, const char* whose) {
    if (length <= most) return;
    length = static_cast<int>(most);
    if (any) return;
    // Nobody need have given it.
    notices.push_back(fmt::format("{}--max_seq_length {} is more than {}: using {}",
                                  s.default_length ? "the default " : "", s.max_seq_length, whose,
                                  length));
  };
  limit(longest_text(config), "the model has positions");
  if (tokenizer.max_length()) limit(*tokenizer.max_length(), "the tokenizer's model_max_length");
  return length;
}

// Second texts have type 1, unless the tokenizer says otherwise.
void check_types(const Settings& s, const Prepared& prepared) {
  const ModelConfig& config = prepared.config;
  if (config.type_vocab_size == 0) return;  // nobody reads them
  const auto check = [&](const Examples& examples) {
    const auto has_row = [&](std::int8_t type) { return type < config.type_vocab_size; };
    if (std::all_of(examples.types.begin(), examples.types.end(), has_row)) return;
    throw Error(Exit::kBadInput, fmt::format("{}: cannot read pairs of texts", s.model),
                fmt::format("the model's type_vocab_size is {}", config.type_vocab_size));
  };
  check(prepared.train);
  for (const Questioned& set : prepared.evaluation) check(set.examples);
  for (const Questioned& set : prepared.test) check(set.examples);
}

void check_padding(const Settings& s, const ModelConfig& config) {
  const ModelFamily& family = family_of(config);
  if (s.qa_loss != "padded" || family.sees_padding) return;
  throw Error(Exit::kBadInput, fmt::format("{}: cannot use --qa_loss padded", s.model),
              fmt::format("in a model of the type {}, padding does not see the text", family.name),
              s.pad_to_max_length ? "--pad_to_max_length false" : "--qa_loss masked");
}

void load_weights(const Settings& s, Prepared& prepared) {
  const ParameterLayout layout = layout_parameters(prepared.config);
  LoadedParameters loaded =
      load_parameters(s.model, prepared.config, layout,
                      {static_cast<std::uint64_t>(s.seed), s.ignore_mismatched_sizes});
  prepared.parameters = std::move(loaded.values);
  if (!loaded.kept.empty()) {
    prepared.config.kept = std::make_shared<const TensorMap>(std::move(loaded.kept));
  }
  if (!loaded.fresh.empty() && !s.do_train && !s.ignore_mismatched_sizes) {
    throw Error(
        Exit::kBadInput, fmt::format("{}: cannot use the model", s.model),
        fmt::format("it has no head for {}, and a new one would answer at random: {} missing",
                    task_rules(s.task).words, join(loaded.fresh, ", ")),
        "--do_train --train_file FILE");
  }
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

void check_vocabulary(const std::string& folder, const ModelConfig& config,
                      const Tokenizer& tokenizer) {
  // Larger ids would lie outside the embeddings. Fewer tokens than rows are common.
  if (tokenizer.vocabulary_size() > config.vocab_size) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the vocabulary", folder),
                fmt::format("it has {} tokens, the model's vocab_size is {}; transformers' "
                            "resize_token_embeddings() makes the model larger",
                            tokenizer.vocabulary_size(), config.vocab_size),
                fmt::format("grep vocab_size {}", one_shell_word(folder + "/config.json")));
  }
}

void prepare(const Settings& settings, Prepared& prepared) {
  if (settings.demo) {
    prepared = prepare_demo(settings);
    return;
  }
  Settings s = settings;
  s.model = find_model({settings.model, settings.model_revision, settings.cache_dir}, has_weights);
  if (s.model != settings.model) {
    prepared.notices.push_back(fmt::format("{} is {}", settings.model, s.model));
  }
  ModelConfig& config = prepared.config;
  config = read_model_config(s.model);
  check_padding(s, config);
  prepared.tokenizer = Tokenizer::load(s.model);
  const Tokenizer& tokenizer = *prepared.tokenizer;
  check_vocabulary(s.model, config, tokenizer);
  prepared.length = usable_length(s, config, tokenizer, prepared.notices);
  const TaskKind& kind = task_kind(s.task);
  config.task = kind.head;
  kind.prepare(s, prepared);
  // After the data, which decides whether there are pairs. Before the weights, which take longest.
  check_types(s, prepared);
  load_weights(s, prepared);
}

}  // namespace dtl::trainer
