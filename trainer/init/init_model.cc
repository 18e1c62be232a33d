#include "trainer/init/init_model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/data/wordpiece_trainer.h"
#include "trainer/model/parameters.h"

namespace dtl::trainer {
namespace {

constexpr const char* kModelTypes = "bert|distilbert";

struct InitSettings {
  std::string train_file, output_dir, model_type = "bert";
  ModelConfig config;
  std::uint64_t seed = 42;
  bool lower_case = false;
  double dropout = 0.1;
};

void declare(CLI::App& app, InitSettings& settings) {
  ModelConfig& config = settings.config;
  app.add_option("--train_file", settings.train_file,
                 "texts and labels to learn from (.tsv, .csv, .json, .jsonl)")
      ->required()
      ->type_name("FILE");
  app.add_option("--output_dir", settings.output_dir, "folder to write the model to")
      ->required()
      ->type_name("FOLDER");
  app.add_option("--model_type", settings.model_type, "what kind of encoder")
      ->type_name(kModelTypes)
      ->check(CLI::IsMember(split(kModelTypes, '|')).description(""))
      ->capture_default_str();
  const auto size = [&app](const char* name, int& value, const char* text) {
    app.add_option(name, value, text)->check(CLI::Range(1, 1 << 24))->capture_default_str();
  };
  size("--vocab_size", config.vocab_size, "tokens to learn at most");
  size("--hidden_size", config.hidden_size, "width of the encoder");
  size("--num_hidden_layers", config.layers, "layers");
  size("--num_attention_heads", config.heads, "attention heads; must divide the width");
  size("--intermediate_size", config.intermediate_size, "width of the feed-forward part");
  size("--max_seq_length", config.max_positions, "longest text in tokens");
  app.add_option("--dropout", settings.dropout, "all dropout probabilities")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--initializer_range", config.initializer_range,
                 "standard deviation of the random weights")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "seed of the random weights")->capture_default_str();
  app.add_flag("--lowercase", settings.lower_case, "lower all text and strip accents");
}

[[noreturn]] void refuse_unknown(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  const std::string spelled = word.substr(0, word.find('='));
  const std::string near = nearest(spelled, known);
  throw Error(Exit::kUsage, fmt::format("dttrain init: unknown option '{}'", spelled), "",
              near.empty() ? "dttrain init --help" : near);
}

// Nothing when only the help text was asked for.
bool parse(const std::vector<std::string>& arguments, InitSettings& settings) {
  CLI::App app(
      "Makes a new model: learns a vocabulary from a data set, takes its labels and writes "
      "random weights.",
      "dttrain init");
  settings.config = {.vocab_size = 8000,
                     .hidden_size = 128,
                     .layers = 2,
                     .heads = 2,
                     .intermediate_size = 512,
                     .max_positions = 128};
  declare(app, settings);
  app.allow_extras();
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    // A misspelt option makes another one "missing": say the cause.
    if (!app.remaining().empty()) refuse_unknown(app, app.remaining().front());
    throw Error(Exit::kUsage, "dttrain init", error.what(), "dttrain init --help");
  }
  if (!app.remaining().empty()) refuse_unknown(app, app.remaining().front());
  settings.config.type = settings.model_type == "bert" ? ModelType::kBert : ModelType::kDistilBert;
  settings.config.hidden_dropout = settings.config.attention_dropout =
      settings.config.classifier_dropout = settings.dropout;
  return true;
}

TensorMap random_weights(const ModelConfig& config, std::uint64_t seed) {
  const ParameterLayout layout = layout_parameters(config);
  std::vector<float> parameters(static_cast<std::size_t>(layout.total), 0.0F);
  TensorMap weights;
  for (const ParameterInfo& info : layout.tensors) {
    initialise(info, config.initializer_range, seed, parameters.data());
    const auto begin = parameters.begin() + info.offset;
    if (info.offset == layout.word) {
      std::fill_n(begin + std::int64_t{config.pad_token_id} * config.hidden_size,
                  config.hidden_size, 0.0F);
    }
    weights[info.name] = {info.shape, std::vector<float>(begin, begin + info.count)};
  }
  return weights;
}

}  // namespace

CompletedCommand init_completion() {
  CLI::App app;
  InitSettings settings;
  declare(app, settings);
  CompletedCommand command{"init", "make a new model", {}};
  for (const CLI::Option* option : app.get_options()) {
    CompletedOption known;
    for (const std::string& name : option->get_snames()) known.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) known.names.push_back("--" + name);
    known.help = option->get_description();
    if (option->get_items_expected_max() > 0) {
      known.follows = Follows::kValue;
      known.value = value_of_column(option->get_type_name());
    }
    command.options.push_back(std::move(known));
  }
  return command;
}

NewModel make_model(const TextDataset& dataset, ModelConfig config, bool lower_case,
                    std::uint64_t seed) {
  if (config.hidden_size % config.heads != 0) {
    throw Error(Exit::kUsage, "cannot make the model",
                fmt::format("a width of {} cannot be divided among {} attention heads",
                            config.hidden_size, config.heads));
  }
  std::vector<std::string> vocabulary =
      learn_vocabulary(dataset, {.size = config.vocab_size, .lower_case = lower_case});
  config.vocab_size = static_cast<int>(vocabulary.size());
  config.labels = label_names(dataset);
  Tokenizer tokenizer(std::move(vocabulary), lower_case, config.max_positions);
  config.pad_token_id = tokenizer.padding_id();
  TensorMap weights = random_weights(config, seed);
  return {std::move(config), std::move(tokenizer), std::move(weights)};
}

void save_model(const std::string& folder, const NewModel& model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Exit::kCannotWrite, fmt::format("cannot make the folder '{}'", folder),
                error.message());
  }
  write_model_config(folder, model.config);
  model.tokenizer.save(folder);
  write_safetensors(folder + "/model.safetensors", model.weights);
}

int run_init(const std::vector<std::string>& arguments) {
  InitSettings settings;
  if (!parse(arguments, settings)) return 0;
  const TextDataset dataset = read_dataset(settings.train_file, -1);
  const NewModel model = make_model(dataset, settings.config, settings.lower_case, settings.seed);
  save_model(settings.output_dir, model);
  std::size_t parameters = 0;
  for (const auto& [name, tensor] : model.weights) parameters += tensor.values.size();
  log_notice(
      fmt::format("{}: new {} model of {} parameters: {} tokens learnt from {} texts, "
                  "labels {}",
                  settings.output_dir, settings.model_type, parameters, model.config.vocab_size,
                  dataset.examples.size(), join(model.config.labels, ", ")));
  return 0;
}

}  // namespace dtl::trainer
