// The table of tasks, and that of their options.
#include "trainer/settings/task_rules.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "trainer/settings/option_table.h"

namespace dtl::trainer {
namespace {

constexpr std::string_view kClassification = "classification", kAnswers = "qa",
                           kTokens = "token_classification", kEmbeddings = "embeddings",
                           kReranking = "reranking", kChoice = "multiple_choice",
                           kMasked = "masked_lm";

constexpr std::array<TaskRules, 7> kTasks = {{
    {kClassification, "classification", 128, "loss", false},
    {kAnswers, "question answering", 384, "f1", true},
    // As run_ner.py, run_swag.py and run_mlm.py: what the tokenizers of BERT allow.
    {kTokens, "token classification", 512, "loss", false},
    {kEmbeddings, "embeddings", 0, "loss", false},
    {kReranking, "reranking", 512, "loss", false},
    {kChoice, "multiple choice", 512, "loss", false},
    {kMasked, "masked language modelling", 512, "loss", false},
}};

const std::vector<TaskOption>& task_options() {
  static const std::vector<TaskOption> options = {
      {"text_column_names", {kClassification, kEmbeddings, kReranking, kChoice, kMasked}},
      {"text_column_delimiter", {kClassification}},
      {"label_column_name", {kClassification, kTokens, kEmbeddings, kReranking, kChoice}},
      {"label_delimiter", {kClassification}},
      {"do_regression", {kClassification}},
      {"data_dir", {kClassification}},
      {"label_smoothing_factor", {kClassification, kTokens, kChoice}},
      {"choice_column_names", {kChoice}},
      {"reranking_loss", {kReranking}},
      {"mlm_probability", {kMasked}},
      {"whole_word_mask", {kMasked}},
      {"line_by_line", {kMasked}},
      {"validation_split_percentage", {kMasked}},
      {"label_weights", {kClassification}},
      {"focal_gamma", {kClassification}},
      {"multi_label_threshold", {kClassification}},
      {"metric_name", {kClassification}},
      {"shuffle_train_dataset", {kClassification}},
      {"shuffle_seed", {kClassification}},
      {"version_2_with_negative", {kAnswers}},
      {"doc_stride", {kAnswers}},
      {"n_best_size", {kAnswers}},
      {"max_answer_length", {kAnswers}},
      {"null_score_diff_threshold", {kAnswers}},
      {"qa_loss", {kAnswers}},
      {"text_column_name", {kTokens}},
      {"label_all_tokens", {kTokens}},
      {"return_entity_level_metrics", {kTokens}},
      {"loss", {kEmbeddings}},
      {"loss_scale", {kEmbeddings}},
      {"symmetric_loss", {kEmbeddings}},
      {"margin", {kEmbeddings}},
      {"triplet_distance", {kEmbeddings}},
      {"matryoshka_dims", {kEmbeddings}},
      {"matryoshka_weights", {kEmbeddings}},
      {"pooling", {kEmbeddings}},
      {"normalize_embeddings", {kEmbeddings}},
      {"prompts", {kEmbeddings}},
      {"corpus_file", {kEmbeddings}},
  };
  return options;
}

}  // namespace

std::span<const TaskRules> all_task_rules() {
  return kTasks;
}

const TaskRules& task_rules(std::string_view name) {
  const auto* rules = std::find_if(kTasks.begin(), kTasks.end(),
                                   [&](const TaskRules& each) { return each.name == name; });
  return rules == kTasks.end() ? kTasks.front() : *rules;
}

std::vector<TaskOption> used_task_options(const Settings& settings) {
  static const Settings usual;
  std::vector<TaskOption> used;
  for (const TaskOption& task_option : task_options()) {
    const Option* option = find_option(option_table().options(),
                                       "--" + std::string(task_option.name), Spelling::kExact);
    assert(option != nullptr);
    const auto& get = option_table().target(*option).get;
    if (get(settings) != get(usual)) used.push_back(task_option);
  }
  return used;
}

std::string task_words(const std::vector<std::string_view>& tasks) {
  std::string words;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) words += i + 1 == tasks.size() ? " and " : ", ";
    words += task_rules(tasks[i]).words;
  }
  return words;
}

}  // namespace dtl::trainer
