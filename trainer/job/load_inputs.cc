// The inputs that all tasks need: model, tokenizer, lengths and weights. The task reads the data
// sets.
#include "trainer/job/load_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/embeddings/sentence_folder.h"
#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/job/demo.h"
#include "trainer/job/hub_cache.h"
#include "trainer/settings/task_rules.h"
#include "trainer/tasks/classifier_loss.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

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

void check_frozen(const Settings& s, const ModelConfig& config) {
  // Without a training, a line has said that the option has no effect.
  if (!s.do_train || s.freeze_layers <= config.layers) return;
  throw Error(Exit::kUsage, fmt::format("--freeze_layers {}", s.freeze_layers),
              fmt::format("the model has {}", plural(config.layers, "layer")),
              fmt::format("--freeze_layers {}", config.layers - 1));
}

// A model of embeddings may have no head.
void check_trained(const Settings& s, const ParameterLayout& layout) {
  if (trained_begin(layout, s.freeze_layers) < layout.total || !s.do_train) return;
  throw Error(Exit::kUsage, fmt::format("--freeze_layers {}", s.freeze_layers),
              "nothing would be left to train",
              fmt::format("--freeze_layers {}", s.freeze_layers - 1));
}

void check_padding(const Settings& s, const ModelConfig& config) {
  const ModelFamily& family = family_of(config);
  if (s.qa_loss != "padded" || family.sees_padding) return;
  throw Error(Exit::kBadInput, fmt::format("{}: cannot use --qa_loss padded", s.model),
              fmt::format("in a model of the type {}, padding does not see the text", family.name),
              s.pad_to_max_length ? "--pad_to_max_length false" : "--qa_loss masked");
}

// The first few, and how many more there are.
std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  if (names.size() <= kShown + 1) return join(names, ", ");
  return fmt::format("{} and {} more", join(std::span(names).first(kShown), ", "),
                     names.size() - kShown);
}

// Heads of several tasks have the same tensors: a reranker's is that of multiple choice.
void tell_other_head(const Settings& s, Prepared& prepared) {
  const ModelConfig& config = prepared.config;
  if (config.task == Task::kEmbeddings || config.task == Task::kMaskedLm) return;
  const std::string_view own = head_of(config).architecture;
  const std::vector<std::string>& names = config.architectures;
  const auto is_own = [&](const std::string& name) { return name.ends_with(own); };
  if (names.empty() || std::any_of(names.begin(), names.end(), is_own)) return;
  prepared.weights.push_back(fmt::format("{}: {} starts from the head of its {}", s.model,
                                         task_rules(s.task).words, join(names, ", ")));
}

void load_weights(const Settings& s, Prepared& prepared) {
  const ModelConfig& config = prepared.config;
  const ParameterLayout layout = layout_parameters(config);
  check_trained(s, layout);
  LoadedParameters loaded = load_parameters(
      s.model, config, layout, {static_cast<std::uint64_t>(s.seed), s.ignore_mismatched_sizes});
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
    prepared.weights.push_back(
        fmt::format("newly initialised (not in {}): {}", s.model, join(loaded.fresh, ", ")));
  }
  if (!loaded.unused.empty()) {
    prepared.weights.push_back(fmt::format("not used from {}: {}", s.model, some(loaded.unused)));
  }
  if (loaded.fresh.empty()) tell_other_head(s, prepared);
}

void tell_not_of_hub(const Settings& s, std::vector<std::string>& notices) {
  const Settings usual;
  for (const auto& [option, given] :
       {std::pair{"model_revision", s.model_revision != usual.model_revision},
        {"cache_dir", s.cache_dir != usual.cache_dir}}) {
    if (!given) continue;
    notices.push_back(fmt::format("--{} has no effect here: {} is a folder, not in the hub's cache",
                                  option, s.model));
  }
}

// A command that makes it, beside the folder.
std::string larger_model(const std::string& folder, int tokens) {
  const std::string code = fmt::format(
      "from transformers import AutoModel, AutoTokenizer; m = AutoModel.from_pretrained(\"{0}\"); "
      "m.resize_token_embeddings({1}); m.save_pretrained(\"{0}-larger\"); "
      "AutoTokenizer.from_pretrained(\"{0}\").save_pretrained(\"{0}-larger\")",
      folder, tokens);
  return "python3 -c " + one_shell_word(code);
}

}  // namespace

// The limits are not errors: longer texts are truncated anyway. A notice tells the length.
int usable_length(const AskedLength& asked, const ModelConfig& config, const Tokenizer& tokenizer,
                  std::vector<std::string>& notices) {
  std::int64_t most = longest_text(config);
  const char* whose = "the model has positions";
  if (tokenizer.max_length().value_or(most) < most) {
    most = *tokenizer.max_length();
    whose = "the tokenizer's model_max_length";
  }
  if (asked.tokens > most) {
    notices.push_back(fmt::format("{}--max_seq_length {} is more than {}: using {}",
                                  asked.by_default ? "the default " : "", asked.tokens, whose,
                                  most));
  }
  return static_cast<int>(asked.tokens == 0 ? most : std::min<std::int64_t>(asked.tokens, most));
}

void check_vocabulary(const std::string& folder, const ModelConfig& config,
                      const Tokenizer& tokenizer) {
  // Larger ids would lie outside the embeddings. Fewer tokens than rows are common.
  if (tokenizer.vocabulary_size() > config.vocab_size) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the vocabulary", folder),
                fmt::format("it has {} tokens, the model's vocab_size is {}: either the files of "
                            "the tokenizer are another model's, or the model must become larger",
                            tokenizer.vocabulary_size(), config.vocab_size),
                larger_model(folder, tokenizer.vocabulary_size()));
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
  } else {
    tell_not_of_hub(s, prepared.notices);
  }
  ModelConfig& config = prepared.config;
  const std::string encoder = encoder_folder(s.model);
  config = read_model_config(encoder);
  check_padding(s, config);
  check_frozen(s, config);
  prepared.tokenizer = Tokenizer::load(encoder);
  const Tokenizer& tokenizer = *prepared.tokenizer;
  check_vocabulary(encoder, config, tokenizer);
  prepared.length =
      usable_length({s.max_seq_length, s.default_length}, config, tokenizer, prepared.notices);
  const TaskKind& kind = task_kind(s.task);
  config.task = kind.head;
  kind.prepare(s, prepared);
  choose_head_loss(s, prepared);
  // After the data, which decides whether there are pairs. Before the weights, which take longest.
  check_types(s, prepared);
  load_weights(s, prepared);
}

}  // namespace dtl::trainer
