// The folder's modules and options first, then data sets. All that is wrong is refused here, before
// the weights are read.
#include "trainer/tasks/embedding_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/embeddings/prompts.h"
#include "trainer/embeddings/sentence_folder.h"
#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/pieces/unicode.h"
#include "trainer/settings/embedding_options.h"
#include "trainer/tasks/retrieval_data.h"

namespace dtl::trainer {
namespace {

void set_prompts(const Settings& s, EmbeddingConfig& config) {
  for (const auto& [name, text] : given_prompts(s)) {
    // One text for all is the default prompt.
    const std::string key = name.empty() ? "default" : name;
    if (name.empty()) config.default_prompt = key;
    std::erase_if(config.prompts, [&](const auto& prompt) { return prompt.first == key; });
    config.prompts.emplace_back(key, text);
  }
  // sentence-transformers' training has prompts only for the columns that its argument names.
  if (!s.prompts.empty() && find_prompt(given_prompts(s), "") == nullptr) {
    config.default_prompt.clear();
  }
}

void set_modules(const Settings& s, Prepared& prepared) {
  ModelConfig& config = prepared.config;
  EmbeddingConfig& embedding = config.embedding;
  embedding = read_sentence_folder(s.model, config.hidden_size);
  config.labels.clear();  // of a classifier that was in the folder
  config.columns = {};
  TextPooling pooling{};
  if (pooling_named(s.pooling, pooling) && pooling != embedding.pooling) {
    if (is_sentence_folder(s.model)) {
      prepared.notices.push_back(fmt::format("--pooling {} replaces the folder's: {}", s.pooling,
                                             pooling_name(embedding.pooling)));
    }
    embedding.pooling = pooling;
  }
  embedding.normalize = embedding.normalize || s.normalize_embeddings;
  if (s.default_length && embedding.max_length > 0) {
    prepared.length = std::min(embedding.max_length, longest_text(config));
  }
  embedding.max_length = prepared.length;
  set_prompts(s, embedding);
  if (!embedding.similarity.empty() && embedding.similarity != "cosine") {
    prepared.notices.push_back(
        fmt::format("{}: its similarity_fn_name is {}: figures here are of "
                    "the cosine",
                    s.model, embedding.similarity));
  }
  for (const int dimensions : matryoshka_dims(s)) {
    if (dimensions <= output_count(config)) continue;
    throw Error(
        Exit::kUsage, "--matryoshka_dims " + s.matryoshka_dims,
        fmt::format("{} is more than the embedding has: {}", dimensions, output_count(config)),
        fmt::format("--matryoshka_dims {}", output_count(config)));
  }
}

TextGroupOptions group_options(const Settings& s, Scores scores, std::size_t least,
                               std::int64_t limit) {
  TextGroupOptions options{.scores = scores, .least_texts = least, .limit = limit};
  if (!s.text_column_names.empty()) options.text_columns = split(s.text_column_names, ',');
  options.score_column = s.label_column_name;
  return options;
}

// by_id: only the first column has texts.
void tell(const TextGroups& groups, bool by_id, const Examples& examples, Prepared& prepared) {
  std::string line = summary(groups);
  std::vector<std::string> shown;
  for (const std::string& column : groups.columns) {
    if (by_id && column != groups.columns[0]) continue;
    const std::string prompt = prompt_of(prepared.config.embedding, column);
    const std::string text = fmt::format("{} '{}'", column, printable(prompt));
    const bool again = std::find(shown.begin(), shown.end(), text) != shown.end();
    if (!prompt.empty() && !again) shown.push_back(text);
  }
  if (!shown.empty()) line += "; prompts: " + join(shown, ", ");
  if (examples.cut > 0) {
    line += fmt::format("; {} cut at {} tokens", plural(examples.cut, "text"), prepared.length);
  }
  prepared.data_sets.push_back(line);
}

// Whether a loss can learn from rows of this kind.
void check_loss(const Settings& s, const TextGroups& groups) {
  const std::string loss = embedding_loss_name(s, groups.scored());
  check_loss_options(s, loss);
  const std::size_t texts = groups.texts();
  const bool pairs = needs_scores(loss), triplets = loss == "triplet";
  if (pairs ? texts == 2 : triplets ? texts == 3 : texts >= 2) return;
  throw Error(Exit::kBadInput, fmt::format("{}: cannot train with --loss {}", s.train_file, loss),
              fmt::format("it needs {} texts in a row, and there are {}: {}",
                          pairs      ? "two"
                          : triplets ? "three"
                                     : "two or more",
                          texts, join(groups.columns, ", ")),
              pairs && s.embedding_loss.empty() ? "--loss multiple_negatives_ranking"
                                                : "--text_column_names NAME,NAME");
}

void prepare_training(const Settings& s, Prepared& prepared) {
  const Scores scores = s.embedding_loss.empty()         ? Scores::kIfThere
                        : needs_scores(s.embedding_loss) ? Scores::kNeeded
                                                         : Scores::kIgnored;
  const TextGroups groups =
      read_text_groups(s.train_file, group_options(s, scores, 2, s.max_train_samples));
  check_loss(s, groups);
  for (const auto& [name, text] : given_prompts(s)) {
    const auto& columns = groups.columns;
    if (name.empty() || std::find(columns.begin(), columns.end(), name) != columns.end()) continue;
    throw Error(
        Exit::kUsage, fmt::format("--prompts '{}'", s.prompts),
        fmt::format("{} has no column '{}', only {}", s.train_file, name, join(columns, ", ")),
        "head -n 1 " + one_shell_word(s.train_file));
  }
  prepared.train = encode_text_groups(groups, prompts_of(prepared.config.embedding, groups.columns),
                                      text_encoding(prepared));
  tell(groups, false, prepared.train, prepared);
}

// Ids may be more in one row than in another.
void check_even(const TextGroups& groups) {
  for (const TextGroup& row : groups.rows) {
    if (row.texts.size() == groups.texts()) continue;
    throw Error(
        Exit::kBadInput, row_place(groups.path, row.line, row.element) + ": cannot read this row",
        fmt::format("it has {} texts and the first row has {}", row.texts.size(), groups.texts()),
        show_line(groups.path, row.line));
  }
}

EmbeddingSetKind kind_of(const Settings& s, const TextGroups& groups) {
  if (!s.corpus_file.empty()) return EmbeddingSetKind::kRetrieval;
  if (groups.scored()) return EmbeddingSetKind::kScored;
  return groups.texts() > 2 ? EmbeddingSetKind::kTriplets : EmbeddingSetKind::kRetrieval;
}

void prepare_evaluation(const Settings& s, Prepared& prepared) {
  const bool corpus = !s.corpus_file.empty();
  auto set = std::make_shared<EmbeddingSet>();
  TextGroupOptions options =
      group_options(s, corpus ? Scores::kIgnored : Scores::kIfThere, 2, s.max_eval_samples);
  options.ragged = corpus;
  set->groups = read_text_groups(s.validation_file, options);
  set->kind = kind_of(s, set->groups);
  const bool scored = s.do_train ? !prepared.train.targets.empty() : set->groups.scored();
  set->loss = embedding_loss_name(s, scored);
  set->by_id = is_id_column(set->groups.columns[1]);
  if (set->by_id && !corpus) {
    throw Error(
        Exit::kBadInput, s.validation_file + ": cannot evaluate",
        fmt::format("its column {} has ids of passages, which must be in a file of their own",
                    set->groups.columns[1]),
        "--corpus_file FILE");
  }
  if (set->groups.scored() && set->groups.texts() != 2) {
    throw Error(Exit::kBadInput, s.validation_file + ": cannot evaluate",
                fmt::format("a score is of two texts, and there are {}: {}", set->groups.texts(),
                            join(set->groups.columns, ", ")),
                "--text_column_names NAME,NAME");
  }
  Questioned& to = prepared.evaluation.emplace_back();
  if (!set->by_id) {
    check_even(set->groups);
    to.examples =
        encode_text_groups(set->groups, prompts_of(prepared.config.embedding, set->groups.columns),
                           text_encoding(prepared));
  }
  tell(set->groups, set->by_id, to.examples, prepared);
  if (corpus) {
    search_corpus(s, prepared, *set, to.examples);
  } else if (set->kind == EmbeddingSetKind::kRetrieval) {
    search_positives(*set);
  }
  to.memo = std::move(set);
}

void prepare_test(const Settings& s, Prepared& prepared) {
  auto set = std::make_shared<EmbeddingSet>();
  set->groups =
      read_text_groups(s.test_file, group_options(s, Scores::kIgnored, 1, s.max_predict_samples));
  Questioned& to = prepared.test.emplace_back();
  to.examples =
      encode_text_groups(set->groups, prompts_of(prepared.config.embedding, set->groups.columns),
                         text_encoding(prepared));
  tell(set->groups, false, to.examples, prepared);
  to.memo = std::move(set);
}

}  // namespace

std::string embedding_loss_name(const Settings& s, bool scored) {
  if (!s.embedding_loss.empty()) return s.embedding_loss;
  return scored ? "cosent" : "multiple_negatives_ranking";
}

EmbeddingLossSettings embedding_loss_settings(const Settings& s, bool scored) {
  const std::string name = embedding_loss_name(s, scored);
  EmbeddingLossSettings loss;
  loss.kind = name == "cosent"              ? EmbeddingLoss::kCosent
              : name == "cosine_similarity" ? EmbeddingLoss::kCosine
              : name == "triplet"           ? EmbeddingLoss::kTriplet
                                            : EmbeddingLoss::kRanking;
  loss.scale = s.loss_scale;
  loss.symmetric = s.symmetric_loss;
  loss.margin = s.margin;
  loss.distance = s.triplet_distance == "cosine"      ? TripletDistance::kCosine
                  : s.triplet_distance == "manhattan" ? TripletDistance::kManhattan
                                                      : TripletDistance::kEuclidean;
  loss.dimensions = matryoshka_dims(s);
  loss.dimension_weights = matryoshka_weights(s);
  return loss;
}

void prepare_embeddings(const Settings& s, Prepared& prepared) {
  set_modules(s, prepared);
  if (s.do_train) prepare_training(s, prepared);
  if (s.do_eval) prepare_evaluation(s, prepared);
  if (s.do_predict) prepare_test(s, prepared);
}

}  // namespace dtl::trainer
