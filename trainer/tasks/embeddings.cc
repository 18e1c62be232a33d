// Embeddings of texts: sentence-transformers' training, with its losses and evaluators.
// embedding_data.cc reads the data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/text.h"
#include "trainer/embeddings/embedding_metrics.h"
#include "trainer/embeddings/npy.h"
#include "trainer/families/task_head.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/settings/embedding_options.h"
#include "trainer/tasks/embedding_data.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

struct EmbeddingScore : TaskMemo {
  std::vector<Ranking> rankings;  // of kRetrieval
};

const EmbeddingSet& set_of(const Questioned& set) {
  return static_cast<const EmbeddingSet&>(*set.memo);
}

// The embeddings of the examples' texts, without those of a corpus.
EmbeddingTable table_of(const EmbeddingSet& set, const ModelConfig& config,
                        const std::vector<float>& outputs) {
  const auto texts = static_cast<std::int64_t>(set.groups.texts());
  const std::int64_t D = output_count(config);
  const auto rows = static_cast<std::int64_t>(set.groups.rows.size());
  return {{outputs.data(), static_cast<std::size_t>(rows * texts * D)}, texts, D};
}

// Whether the loss of training has a value for this set.
bool has_loss(const EmbeddingSet& set) {
  if (set.by_id) return false;
  if (needs_scores(set.loss)) return set.groups.scored();
  return !set.groups.scored() && (set.loss != "triplet" || set.groups.texts() == 3);
}

double set_loss(const ModelOutputs& of, const EmbeddingSet& set, const EmbeddingTable& table) {
  Examples examples;  // their number, texts and scores are all that the loss needs
  examples.texts = table.texts;
  examples.starts.resize(set.groups.rows.size() * set.groups.texts() + 1);
  if (set.groups.scored()) {
    for (const TextGroup& row : set.groups.rows) examples.targets.push_back(row.score);
  }
  return grouped_embedding_loss(embedding_loss_settings(of.settings, needs_scores(set.loss)),
                                examples, of.settings.eval_batch, table.values);
}

MetricList kind_metrics(const EmbeddingSet& set, const EmbeddingTable& table,
                        const std::vector<Ranking>& rankings) {
  switch (set.kind) {
    case EmbeddingSetKind::kScored: {
      std::vector<float> scores;
      for (const TextGroup& row : set.groups.rows) scores.push_back(row.score);
      return similarity_metrics(table, scores);
    }
    case EmbeddingSetKind::kTriplets:
      return triplet_metrics(table);
    case EmbeddingSetKind::kRetrieval:
      return retrieval_metrics(set.retrieval, rankings);
    case EmbeddingSetKind::kTexts:
      return {};
  }
  __builtin_unreachable();
}

// The figure that a set's page begins with; empty for texts alone.
std::string_view main_figure(EmbeddingSetKind kind) {
  switch (kind) {
    case EmbeddingSetKind::kScored:
      return "spearman_cosine";
    case EmbeddingSetKind::kTriplets:
      return "cosine_accuracy";
    case EmbeddingSetKind::kRetrieval:
      return "cosine_ndcg@10";
    case EmbeddingSetKind::kTexts:
      return "";
  }
  __builtin_unreachable();
}

// The first `count` of each row's D numbers, as truncate_dim leaves them.
std::vector<float> cut_rows(std::span<const float> rows, std::int64_t D, std::int64_t count) {
  std::vector<float> cut;
  cut.reserve(rows.size() / static_cast<std::size_t>(D) * static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(D)) {
    const auto row = rows.subspan(at, static_cast<std::size_t>(count));
    cut.insert(cut.end(), row.begin(), row.end());
  }
  return cut;
}

// Of a model that also learns for the beginnings of its embeddings (--matryoshka_dims): the main
// figure of each of these sizes. Empty outputs: only their names.
MetricList cut_figures(const Settings& s, const EmbeddingSet& set, std::span<const float> outputs,
                       std::int64_t D) {
  MetricList figures;
  const std::string_view name = main_figure(set.kind);
  if (name.empty()) return figures;
  for (const int count : matryoshka_dims(s)) {
    if (count >= D) continue;
    double value = 0;
    if (!outputs.empty()) {
      const std::vector<float> cut = cut_rows(outputs, D, count);
      EmbeddingTable table{{}, 2, count};
      std::vector<Ranking> rankings;
      if (set.kind == EmbeddingSetKind::kRetrieval) {
        rankings = rank_passages(set.retrieval, cut, count, default_threads());
      } else {
        const std::size_t values = set.groups.rows.size() * set.groups.texts();
        table = {{cut.data(), values * static_cast<std::size_t>(count)},
                 static_cast<std::int64_t>(set.groups.texts()),
                 count};
      }
      for (const auto& [each, figure] : kind_metrics(set, table, rankings)) {
        if (each == name) value = figure;
      }
    }
    figures.emplace_back(fmt::format("dim_{}_{}", count, name), value);
  }
  return figures;
}

MetricList embedding_figures(const Settings& s, const ModelConfig& config, const Questioned& set) {
  const EmbeddingSet& own = set_of(set);
  MetricList figures;
  if (has_loss(own)) figures.emplace_back("loss", 0);
  EmbeddingSet nothing;
  nothing.kind = own.kind;
  const MetricList more = kind_metrics(nothing, {}, {});
  figures.insert(figures.end(), more.begin(), more.end());
  const MetricList cut = cut_figures(s, own, {}, output_count(config));
  figures.insert(figures.end(), cut.begin(), cut.end());
  return figures;
}

TaskScore score_embeddings(const ModelOutputs& of) {
  TaskScore score;
  if (!of.labelled) return score;
  const EmbeddingSet& set = set_of(of.set);
  const ModelConfig& config = of.prepared.config;
  auto scored = std::make_shared<EmbeddingScore>();
  EmbeddingTable table{{}, 2, output_count(config)};
  if (!set.by_id) table = table_of(set, config, of.outputs);
  if (has_loss(set)) {
    score.metrics.emplace_back("loss", set_loss(of, set, table));
  }
  if (set.kind == EmbeddingSetKind::kRetrieval) {
    scored->rankings =
        rank_passages(set.retrieval, of.outputs, output_count(config), default_threads());
  }
  const MetricList figures = kind_metrics(set, table, scored->rankings);
  score.metrics.insert(score.metrics.end(), figures.begin(), figures.end());
  const MetricList cut = cut_figures(of.settings, set, of.outputs, output_count(config));
  score.metrics.insert(score.metrics.end(), cut.begin(), cut.end());
  score.memo = std::move(scored);
  return score;
}

// The indices of the `count` largest values, the largest first.
std::vector<std::size_t> worst_of(const std::vector<double>& values, std::int64_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

// Places among all, from 0; equal values in their order.
std::vector<double> places_among(const std::vector<float>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> place(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<double>(i);
  return place;
}

std::string shown_texts(const TextGroup& row) {
  std::vector<std::string> texts;
  for (const std::string& text : row.texts) texts.push_back(text_beginning(text));
  return join(texts, "\n");
}

ReportExamples worst_pairs(const ModelOutputs& of, const EmbeddingSet& set) {
  ReportExamples page{"Pairs whose similarity differs most from their score",
                      "By their places among all pairs.",
                      {}};
  const std::vector<float> similarity = cosines(table_of(set, of.prepared.config, of.outputs), 1);
  std::vector<float> scores;
  for (const TextGroup& row : set.groups.rows) scores.push_back(row.score);
  std::vector<double> far = places_among(similarity);
  const std::vector<double> right = places_among(scores);
  for (std::size_t i = 0; i < far.size(); ++i) far[i] = std::abs(far[i] - right[i]);
  for (const std::size_t i : worst_of(far, of.settings.report_examples)) {
    page.examples.push_back({shown_texts(set.groups.rows[i]),
                             {{"score", fmt::format("{:g}", scores[i])},
                              {"cosine", fmt::format("{:.4f}", similarity[i])},
                              {"line", fmt::format("{}", set.groups.rows[i].line)}}});
  }
  return page;
}

ReportExamples worst_triplets(const ModelOutputs& of, const EmbeddingSet& set) {
  ReportExamples page{"Examples with a negative that is too near",
                      "First the anchor, then the positive, then negatives.",
                      {}};
  const std::vector<float> margins = triplet_margins(table_of(set, of.prepared.config, of.outputs));
  std::vector<double> wrong;
  for (const float margin : margins) wrong.push_back(-static_cast<double>(margin));
  for (const std::size_t i : worst_of(wrong, of.settings.report_examples)) {
    page.examples.push_back({shown_texts(set.groups.rows[i]),
                             {{"positive less negative", fmt::format("{:.4f}", margins[i])},
                              {"line", fmt::format("{}", set.groups.rows[i].line)}}});
  }
  return page;
}

// Row numbers of the outputs become texts.
std::string passage_text(const EmbeddingSet& set, std::int32_t passage) {
  const auto at = static_cast<std::size_t>(passage);
  if (!set.passages.empty()) return set.passages[at];
  const auto row = static_cast<std::size_t>(set.retrieval.passages[at]);
  const std::size_t texts = set.groups.texts();
  return text_beginning(set.groups.rows[row / texts].texts[row % texts]);
}

ReportExamples worst_queries(const ModelOutputs& of, const EmbeddingSet& set,
                             const std::vector<Ranking>& rankings) {
  ReportExamples page{"Queries whose right passage ranks lowest",
                      "First the query, then its right passage, then the one that ranks first.",
                      {}};
  std::vector<double> ranks;
  for (const Ranking& ranking : rankings) {
    ranks.push_back(static_cast<double>(ranking.relevant_rank));
  }
  const std::size_t texts = set.by_id ? 1 : set.groups.texts();
  for (const std::size_t i : worst_of(ranks, of.settings.report_examples)) {
    const Ranking& ranking = rankings[i];
    const TextGroup& row =
        set.groups.rows[static_cast<std::size_t>(set.retrieval.queries[i]) / texts];
    page.examples.push_back(
        {join(std::vector<std::string>{text_beginning(row.texts[0]),
                                       passage_text(set, ranking.relevant),
                                       passage_text(set, ranking.best[0])},
              "\n"),
         {{"rank", fmt::format("{} of {}", ranking.relevant_rank, set.retrieval.passages.size())},
          {"line", fmt::format("{}", row.line)}}});
  }
  return page;
}

EvaluationView view_embeddings(const ModelOutputs& of, const TaskScore& score) {
  const EmbeddingSet& set = set_of(of.set);
  const auto rows = static_cast<std::int64_t>(set.groups.rows.size());
  EvaluationView view;
  HeadlineForm form{.main = main_figure(set.kind), .unit = "query"};
  std::int64_t count = rows;
  switch (set.kind) {
    case EmbeddingSetKind::kScored:
      form.unit = "pair";
      view.examples = worst_pairs(of, set);
      break;
    case EmbeddingSetKind::kTriplets:
      form.unit = "triplet";
      view.examples = worst_triplets(of, set);
      break;
    case EmbeddingSetKind::kRetrieval:
      count = static_cast<std::int64_t>(set.retrieval.queries.size());
      view.examples =
          worst_queries(of, set, static_cast<const EmbeddingScore&>(*score.memo).rankings);
      break;
    case EmbeddingSetKind::kTexts:
      return view;
  }
  view.headline = evaluation_headline(score.metrics, count, form);
  if (of.settings.report_examples == 0) view.examples = {};
  return view;
}

// [rows, D], or with several texts in a row [rows, texts, D].
std::vector<TaskFile> embedding_files(const ModelOutputs& of, const TaskScore&) {
  if (of.labelled) return {};
  const EmbeddingSet& set = set_of(of.set);
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(set.groups.rows.size())};
  if (set.groups.texts() > 1) shape.push_back(static_cast<std::int64_t>(set.groups.texts()));
  shape.push_back(output_count(of.prepared.config));
  return {{"predict_embeddings.npy", npy_bytes(shape, of.outputs)}};
}

std::string embedding_outputs(const ModelConfig& config) {
  return fmt::format("embeddings of {} numbers", output_count(config));
}

}  // namespace

const TaskKind kEmbeddings = {.name = "embeddings",
                              .head = Task::kEmbeddings,
                              .prepare = prepare_embeddings,
                              .figures = embedding_figures,
                              .score = score_embeddings,
                              .view = view_embeddings,
                              .files = embedding_files,
                              .outputs = embedding_outputs};

}  // namespace dtl::trainer
