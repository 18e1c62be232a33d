// The command `dttrain init`, and the code that the demonstration shares with it. It does not
// train: weights are random; only the vocabulary and labels come from the data.
#include "trainer/init/init_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/log.h"
#include "base/options/option_table.h"
#include "base/text.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/data/dataset_summary.h"
#include "trainer/data/tagged_sentences.h"
#include "trainer/data/wordpiece_trainer.h"
#include "trainer/families/model_family.h"
#include "trainer/files/folder_lock.h"
#include "trainer/files/output_folder.h"
#include "trainer/layers/parameters.h"
#include "trainer/tokens/wordpiece.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 30;  // the file is in memory as a whole
constexpr const char* kHelp = "dttrain init --help";

struct InitSettings {
  bool help = false, overwrite = false;
  std::string train_file, output_dir, model_type = "bert";
  std::string text_column_names;  // separated by commas
  std::string label_column_name = "label";
  ModelConfig config = {.vocab_size = 8000,
                        .hidden_size = 128,
                        .layers = 2,
                        .heads = 2,
                        .intermediate_size = 512,
                        .max_positions = 128};
  std::uint64_t seed = 42;
  std::string label_delimiter;
  bool do_regression = false;
  bool encoder_only = false;
  bool lower_case = false;
  double dropout = 0.1;
};

// 2^24 bounds the arithmetic of sizes; memory runs out earlier.
template <auto Member>
Target<InitSettings> size() {
  return into::whole<&InitSettings::config, Member>(1, 1 << 24);
}

const OptionTable<InitSettings>& init_table() {
  using I = InitSettings;
  using C = ModelConfig;
  static const std::string kTypes = known_types("|");
  // One row per line is easier to read.
  // clang-format off
  static const OptionTable<I> kTable(std::vector<OptionRow<I>>{
      {"", {"--train_file"}, "FILE", "texts and labels to learn from (.tsv, .csv, .json, .jsonl)",
       into::text<&I::train_file>()},
      {"", {"--text_column_names"}, "NAME[,NAME]", "columns to learn from, as in training",
       into::text<&I::text_column_names>()},
      {"", {"--label_column_name"}, "NAME", "column of the label (label)",
       into::text<&I::label_column_name>()},
      {"", {"--label_delimiter"}, "TEXT", "examples have several labels, with TEXT between them",
       into::text<&I::label_delimiter>()},
      {"", {"--do_regression"}, "", "labels are numbers", into::flag<&I::do_regression>()},
      {"", {"--encoder_only"}, "", "read no labels and make no head, for tasks without labels",
       into::flag<&I::encoder_only>()},
      {"", {"--output_dir"}, "FOLDER", "folder to write the model to",
       into::text<&I::output_dir>()},
      {"", {"--overwrite_output_dir"}, "", "write into a folder that holds files already",
       into::flag<&I::overwrite>()},
      {"", {"--model_type"}, kTypes, "what kind of encoder (bert)",
       into::word<&I::model_type>()},
      {"", {"--vocab_size"}, "N", "tokens to learn at most (8000)", size<&C::vocab_size>()},
      {"", {"--hidden_size"}, "N", "width of the encoder (128)", size<&C::hidden_size>()},
      {"", {"--num_hidden_layers"}, "N", "layers (2)", size<&C::layers>()},
      {"", {"--num_attention_heads"}, "N", "attention heads; must divide the width (2)",
       size<&C::heads>()},
      {"", {"--intermediate_size"}, "N", "width of the feed-forward part (512)",
       size<&C::intermediate_size>()},
      {"", {"--max_seq_length"}, "N", "longest text in tokens (128)", size<&C::max_positions>()},
      {"", {"--dropout"}, "X", "all dropout probabilities (0.1)", into::real<&I::dropout>(0, 0.99)},
      {"", {"--initializer_range"}, "X", "standard deviation of the random weights (0.02)",
       into::real<&I::config, &C::initializer_range>(0, 1)},
      {"", {"--seed"}, "N", "seed of the random weights (42)",
       into::whole<&I::seed>(0, std::numeric_limits<std::int64_t>::max())},
      {"", {"--lowercase"}, "", "lower all text and strip accents", into::flag<&I::lower_case>()},
      {"", {"-h", "--help"}, "", "this text", into::flag<&I::help>()},
  });
  // clang-format on
  return kTable;
}

std::string init_help() {
  return "usage: dttrain init --train_file FILE --output_dir FOLDER [options]\n"
         "Makes a new model: learns a vocabulary from a data set, takes its labels and\n"
         "writes random weights.\n\n" +
         options_text(init_table().options(), {.column = 32});
}

// Returns false if the user only asked for help.
bool parse(const std::vector<std::string>& arguments, InitSettings& settings) {
  // As for dttrain's own options: the last value wins, and flags take true or false.
  const Manner manner{.help = kHelp, .last_wins = true, .true_or_false = true};
  const OptionWords words = read_option_words(init_table().options(), arguments, manner);
  init_table().apply(words.options, settings, kHelp);
  if (settings.help) {
    std::fputs(init_help().c_str(), stdout);
    return false;
  }
  if (!words.rest.empty()) throw Error(Exit::kUsage, words.rest[0], "not an option", kHelp);
  for (const std::string_view needed : {"--train_file", "--output_dir"}) {
    if (words.has(needed)) continue;
    throw Error(Exit::kUsage, std::string(needed), "missing", kHelp);
  }
  ModelConfig& config = settings.config;
  const auto type = type_named(settings.model_type);
  if (!type) {
    throw Error(Exit::kUsage, "--model_type " + settings.model_type,
                fmt::format("not one of {}", known_types()), kHelp);
  }
  config.type = *type;
  if (words.has("--label_delimiter") && settings.label_delimiter.size() != 1) {
    throw Error(Exit::kUsage, "--label_delimiter " + settings.label_delimiter,
                "not one ASCII character", "--label_delimiter ,");
  }
  if (settings.do_regression && !settings.label_delimiter.empty()) {
    throw Error(Exit::kUsage, "--do_regression", "conflicts with --label_delimiter",
                "--do_regression false");
  }
  if (settings.encoder_only) {
    for (const std::string_view other :
         {"--label_column_name", "--label_delimiter", "--do_regression"}) {
      if (!words.has(other)) continue;
      throw Error(Exit::kUsage, "--encoder_only", fmt::format("conflicts with {}", other),
                  "--encoder_only false");
    }
    config.task = Task::kEmbeddings;  // whose head has no tensors
  }
  config.hidden_dropout = config.attention_dropout = config.classifier_dropout = settings.dropout;
  config.pre_norm.feed_forward_dropout = settings.dropout;
  return true;
}

// Each line of a plain text, for --encoder_only.
TextDataset read_plain_text(const std::string& path) {
  TextDataset lines{.labelled = false, .path = path};
  lines.columns.first = {"each line"};
  const auto reader = make_line_reader(path, read_data_file(path, kMostBytes));
  std::vector<std::string> row;
  while (reader->next(row)) {
    lines.examples.push_back(
        {.first = row.front(), .second = {}, .label = {}, .line = reader->line()});
  }
  if (lines.examples.empty()) {
    throw Error(Exit::kBadInput, path + ": cannot use the data set", "it has no text",
                "head -n 3 " + one_shell_word(path));
  }
  return lines;
}

// The words of a CoNLL file as texts whose labels are their tags: the vocabulary and the head are
// then those of token classification.
TextDataset read_tagged_words(const std::string& path) {
  TextDataset words{.path = path};
  words.columns = {.first = {"the words"}, .label = "their tags"};
  for (const TaggedSentence& sentence : read_tagged(path, {}).sentences) {
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      TextExample& word = words.examples.emplace_back();
      word.first = sentence.words[i];
      word.label = sentence.tags[i];
      word.line = sentence.line + static_cast<int>(i);
    }
  }
  return words;
}

// Reads the texts as training does (tasks/load_texts.cc), so that the head fits.
TextDataset read_labelled(const InitSettings& settings) {
  // A .txt may just as well be plain text.
  const std::string& path = settings.train_file;
  if (is_conll_name(path) && !to_lower(path).ends_with(".txt")) return read_tagged_words(path);
  if (settings.encoder_only && path.ends_with(".txt")) {
    return read_plain_text(path);
  }
  DatasetOptions options{.label_column = settings.label_column_name,
                         .labelled = !settings.encoder_only,
                         .unlabelled_hint = "--encoder_only"};
  if (!settings.text_column_names.empty()) {
    options.text_columns = split(settings.text_column_names, ',');
  }
  if (settings.do_regression) options.problem = Problem::kRegression;
  if (!settings.label_delimiter.empty()) {
    options.problem = Problem::kMultiLabel;
    options.label_delimiter = settings.label_delimiter.front();
  }
  TextDataset dataset = read_dataset(settings.train_file, options);
  if (settings.encoder_only) return dataset;
  if (options.problem != Problem::kSingleLabel || !has_float_labels(dataset)) return dataset;
  log_notice(float_labels_notice(settings.train_file));
  options.problem = Problem::kRegression;
  return read_dataset(settings.train_file, options);
}

// BERT's order of special tokens, or RoBERTa's: then the first three have the ids that its
// configuration takes for bos, pad and eos.
void order_special_tokens(int padding, std::vector<std::string>& vocabulary) {
  if (padding == 0) return;
  constexpr std::array kOrder = {"[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"};
  std::copy(kOrder.begin(), kOrder.end(), vocabulary.begin());
}

// Uses the layout and names that load_parameters() expects. The padding row is 0, as in torch's
// nn.Embedding(padding_idx).
TensorMap random_weights(const ModelConfig& config, std::uint64_t seed) {
  const ParameterLayout layout = layout_parameters(config);
  std::vector<float> parameters(static_cast<std::size_t>(layout.total), 0.0F);
  TensorMap weights;
  for (const ParameterInfo& info : layout.tensors) {
    initialise(info, config.initializer_range, seed, parameters.data());
    const auto begin = parameters.begin() + info.offset;
    const bool positions = info.offset == layout.position && first_position(config) > 0;
    if (info.offset == layout.word || positions) {
      std::fill_n(begin + std::int64_t{config.pad_token_id} * info.shape[1], info.shape[1], 0.0F);
    }
    weights[info.name] = {info.shape, std::vector<float>(begin, begin + info.count)};
  }
  return weights;
}

}  // namespace

CompletedCommand init_completion() {
  return {"init", "make a new model", completed(init_table().options())};
}

NewModel make_model(const TextDataset& dataset, ModelConfig config, bool lower_case,
                    std::uint64_t seed) {
  if (config.hidden_size % config.heads != 0) {
    throw Error(
        Exit::kUsage, fmt::format("--hidden_size {}", config.hidden_size),
        fmt::format("not a multiple of --num_attention_heads {}", config.heads),
        fmt::format("--hidden_size {}", (config.hidden_size / config.heads + 1) * config.heads));
  }
  if (is_pre_norm(config) && config.hidden_size / config.heads % 2 != 0) {
    throw Error(Exit::kUsage, fmt::format("--num_attention_heads {}", config.heads),
                fmt::format("a head would have {} numbers; rotary positions need an even number",
                            config.hidden_size / config.heads),
                fmt::format("--hidden_size {}", 2 * config.hidden_size));
  }
  std::vector<std::string> vocabulary =
      learn_vocabulary(dataset, {.size = config.vocab_size, .lower_case = lower_case});
  // A small text may yield fewer tokens than requested.
  config.vocab_size = static_cast<int>(vocabulary.size());
  config.labels = dataset.labelled ? label_names(dataset) : std::vector<std::string>();
  config.problem = dataset.problem;
  if (const auto make_new = family_of(config).make_new) make_new(config);
  order_special_tokens(config.pad_token_id, vocabulary);
  TokenizerRules rules = make_rules(std::move(vocabulary), lower_case);
  rules.model_max_length = config.max_positions;
  rules.types = config.type_vocab_size > 1;
  Tokenizer tokenizer(make_wordpiece(std::move(rules)));
  assert(config.pad_token_id == tokenizer.padding_id());
  config.max_positions += first_position(config);  // of the table, in which texts begin later
  TensorMap weights = random_weights(config, seed);
  return {std::move(config), std::move(tokenizer), std::move(weights)};
}

void save_model(const std::string& folder, const NewModel& model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Exit::kCannotWrite, folder + ": cannot create the folder", error.message());
  }
  write_model_config(folder, model.config);
  model.tokenizer.save(folder);
  // Write the weights last: a folder with weights counts as a complete model.
  write_safetensors(folder + "/model.safetensors", model.weights);
}

int run_init(const std::vector<std::string>& arguments) {
  InitSettings settings;
  if (!parse(arguments, settings)) return 0;
  // Lock before checking the folder: another run may be about to write to it.
  const FolderLock lock(settings.output_dir);
  make_output_folder(settings.output_dir, settings.overwrite);  // it may hold a trained model
  const TextDataset dataset = read_labelled(settings);
  log_notice(summary(dataset));
  for (const std::string& doubt : doubts(dataset)) log_notice(doubt);
  if (dataset.labelled) check_labels(dataset);
  const NewModel model = make_model(dataset, settings.config, settings.lower_case, settings.seed);
  save_model(settings.output_dir, model);
  std::size_t parameters = 0;
  for (const auto& [name, tensor] : model.weights) parameters += tensor.values.size();
  const std::vector<std::string>& labels = model.config.labels;
  log_notice(fmt::format(
      "{}: new {} model of {} parameters: {} tokens learnt from {} texts, {}", settings.output_dir,
      settings.model_type, parameters, model.config.vocab_size, dataset.examples.size(),
      labels.empty()
          ? "no head"
          : fmt::format("{}: {}", plural(std::ssize(labels), "label"), shown_labels(labels))));
  return 0;
}

}  // namespace dtl::trainer
