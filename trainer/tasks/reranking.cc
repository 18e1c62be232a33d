// How well a passage answers a query: one score for each pair, as sentence-transformers'
// CrossEncoder gives it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/dataset.h"
#include "trainer/data/metrics.h"
#include "trainer/data/ranking.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/model/loss.h"
#include "trainer/tasks/candidates.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostPlaces = 10;  // the k of mrr@k and ndcg@k

struct RerankingSet : TaskMemo {
  std::vector<std::size_t> queries;  // of each passage
  std::size_t query_count = 0;
  bool scored = false;             // targets other than 0 and 1: no rank, but a correlation
  std::vector<std::string> texts;  // of each passage with its query, for report.html; or empty
};

const RerankingSet& reranking_of(const Questioned& set) {
  return static_cast<const RerankingSet&>(*set.memo);
}

bool is_identifier(const std::string& name) {
  const std::string lower = to_lower(name);
  return lower == "id" || lower == "idx" || lower == "index" || lower.ends_with("_id");
}

// The column of labels or scores; empty: none.
std::string label_column(const Settings& s, const ModelConfig& config,
                         const std::vector<std::string>& header) {
  if (!s.label_column_name.empty()) return s.label_column_name;
  if (!s.do_train && !config.columns.label.empty()) return config.columns.label;
  for (const char* name : {"label", "labels", "score", "scores"}) {
    if (column_named(header, name) >= 0) return name;
  }
  return "";
}

std::vector<std::string> text_columns(const Settings& s, const ModelConfig& config,
                                      const std::vector<std::string>& header,
                                      const std::string& label) {
  if (!s.text_column_names.empty()) return split(s.text_column_names, ',');
  if (!s.do_train && !config.columns.first.empty()) return config.columns.first;
  std::vector<std::string> names;
  for (const std::string& name : header) {
    if (name != label && !is_identifier(name)) names.push_back(name);
  }
  return names;
}

// A query and a passage with a label; or a query, a right passage and wrong ones.
CandidateColumns reranking_columns(const Settings& s, const ModelConfig& config,
                                   const std::string& path, const std::vector<std::string>& header,
                                   bool labelled) {
  const std::string label = label_column(s, config, header);
  const bool named = !s.label_column_name.empty();
  // A name that the file lacks is refused by the reader of columns.
  const bool has_label = !label.empty() && (named || column_named(header, label) >= 0);
  std::vector<std::string> names = text_columns(s, config, header, label);
  const auto refuse = [&](const std::string& reason) {
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find queries and passages", path),
                fmt::format("the columns are {}; {}", shown_columns(header), reason),
                "--text_column_names query,passage --label_column_name label");
  };
  if (names.size() < 2) refuse("a query and a passage are needed");
  if (labelled && has_label && names.size() > 2) {
    refuse(fmt::format("besides the label {}, there must be one query and one passage", label));
  }
  if (labelled && !has_label && names.size() < 3) {
    refuse("without a column of labels, a query, a right passage and wrong ones are needed");
  }
  CandidateColumns columns{.text = names.front(), .candidates = {}};
  columns.candidates.assign(names.begin() + 1, names.end());
  if (labelled && has_label) columns.label = label;
  return columns;
}

CandidateSet read_passages(const Settings& s, const ModelConfig& config, const std::string& path,
                           std::int64_t limit, bool labelled) {
  return read_candidates(
      path,
      [&](const auto& header) { return reranking_columns(s, config, path, header, labelled); },
      limit);
}

// Of all passages, 0 to 1. Without labels, the first passage of a row is the right one.
std::vector<float> targets_of(const CandidateSet& set) {
  std::vector<float> targets;
  for (const CandidateRow& row : set.rows) {
    if (set.label_column.empty()) {
      targets.push_back(1);
      targets.resize(targets.size() + row.candidates.size() - 1, 0.0F);
      continue;
    }
    const std::optional<float> label = finite_number(trim(row.label));
    if (!label || *label < 0 || *label > 1) {
      refuse_row(set, row, fmt::format("its label '{}' is not a number from 0 to 1", row.label));
    }
    targets.push_back(*label);
  }
  return targets;
}

Examples encode(Prepared& prepared, const CandidateSet& set, bool labelled) {
  Examples examples =
      encode_candidates(set, *prepared.tokenizer, prepared.length, default_threads());
  if (labelled) examples.targets = targets_of(set);
  prepared.data_sets.push_back(summary(set));
  if (labelled && !set.label_column.empty()) {
    const auto relevant = std::count_if(examples.targets.begin(), examples.targets.end(),
                                        [](float target) { return target > 0.5F; });
    prepared.data_sets.back() += fmt::format(" ({} above 0.5)", relevant);
  }
  if (examples.cut > 0) {
    prepared.data_sets.back() +=
        fmt::format("; {} cut at {} tokens", plural(examples.cut, "pair"), prepared.length);
  }
  for (const std::string& doubt : doubts(set)) prepared.notices.push_back(doubt);
  return examples;
}

Questioned question(const Settings& s, Prepared& prepared, const CandidateSet& read,
                    bool labelled) {
  Questioned set;
  set.examples = encode(prepared, read, labelled);
  auto memo = std::make_shared<RerankingSet>();
  const bool shown = labelled && s.do_train && !s.output_dir.empty() && s.report_examples > 0;
  std::map<std::string, std::size_t> queries;
  for (const CandidateRow& row : read.rows) {
    // A row of several passages is a query of its own, as in the evaluator's samples.
    const std::string key = read.candidates() > 1 ? fmt::format("{}", set.lines.size()) : row.text;
    const std::size_t query = queries.emplace(key, queries.size()).first->second;
    for (const std::string& passage : row.candidates) {
      memo->queries.push_back(query);
      set.lines.push_back(row.line);
      if (shown) memo->texts.push_back(text_beginning(row.text) + "\n" + text_beginning(passage));
    }
  }
  memo->query_count = queries.size();
  memo->scored = std::any_of(set.examples.targets.begin(), set.examples.targets.end(),
                             [](float target) { return target != 0.0F && target != 1.0F; });
  set.memo = std::move(memo);
  return set;
}

// A right and a wrong passage are needed to learn anything.
void check_targets(const CandidateSet& set, const std::vector<float>& targets) {
  const auto [least, most] = std::minmax_element(targets.begin(), targets.end());
  if (*least < *most) return;
  throw Error(Exit::kBadInput, fmt::format("{}: cannot learn from these labels", set.path),
              fmt::format("all are {:g}", *least), "head -n 3 " + one_shell_word(set.path));
}

bool is_sigmoid(const ModelConfig& config) {
  const std::string& name = config.score_activation;
  return name.empty() || name.ends_with(".Sigmoid");
}

void check_model(const Settings& s, ModelConfig& config) {
  const std::string& name = config.score_activation;
  if (!is_sigmoid(config) && !name.ends_with(".Identity")) {
    throw Error(Exit::kBadInput, fmt::format("{}/config.json: cannot use the model", s.model),
                fmt::format("its scores go through {}; dttrain has Sigmoid and Identity", name),
                "grep activation_fn " + one_shell_word(s.model + "/config.json"));
  }
  if (s.do_train) {
    config.labels = {"LABEL_0"};
  } else if (config.labels.size() != 1) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot rerank", s.model),
                fmt::format("the model has {}, a reranker has one",
                            plural(static_cast<std::int64_t>(config.labels.size()), "label")),
                "--do_train --train_file FILE");
  }
}

void prepare_reranking(const Settings& s, Prepared& prepared) {
  ModelConfig& config = prepared.config;
  check_model(s, config);
  if (s.do_train) {
    const CandidateSet set = read_passages(s, config, s.train_file, s.max_train_samples, true);
    if (s.reranking_loss == "softmax" && set.candidates() < 2) {
      throw Error(Exit::kUsage, "--reranking_loss softmax",
                  fmt::format("{} has one passage in a row, not several of one query", set.path),
                  "--reranking_loss binary");
    }
    prepared.train = encode(prepared, set, true);
    check_targets(set, prepared.train.targets);
    config.columns = {.first = {set.text_column}, .label = set.label_column};
    config.columns.first.insert(config.columns.first.end(), set.candidate_columns.begin(),
                                set.candidate_columns.end());
  }
  if (s.do_eval) {
    const CandidateSet set = read_passages(s, config, s.validation_file, s.max_eval_samples, true);
    prepared.evaluation.push_back(question(s, prepared, set, true));
  }
  if (s.do_predict) {
    const CandidateSet set = read_passages(s, config, s.test_file, s.max_predict_samples, false);
    prepared.test.push_back(question(s, prepared, set, false));
  }
}

double score_of(const ModelConfig& config, float logit) {
  const auto value = static_cast<double>(logit);
  return is_sigmoid(config) ? 1 / (1 + std::exp(-value)) : value;
}

// Each query's passages, with the logits as scores: the sigmoid would make some of them equal.
std::vector<std::vector<RankedPassage>> by_query(const ModelOutputs& of) {
  const RerankingSet& memo = reranking_of(of.set);
  std::vector<std::vector<RankedPassage>> queries(memo.query_count);
  for (std::size_t i = 0; i < memo.queries.size(); ++i) {
    const bool relevant = of.labelled && of.set.examples.targets[i] > 0.5F;
    queries[memo.queries[i]].push_back({static_cast<double>(of.outputs[i]), relevant});
  }
  return queries;
}

MetricList rank_metrics(const std::vector<std::vector<RankedPassage>>& queries) {
  double map = 0, mrr = 0, gain = 0;
  for (const std::vector<RankedPassage>& passages : queries) {
    map += average_precision(passages);
    mrr += reciprocal_rank(passages, kMostPlaces);
    gain += ndcg(passages, kMostPlaces);
  }
  const auto count = std::max(1.0, static_cast<double>(queries.size()));
  return {{"ndcg@10", gain / count}, {"mrr@10", mrr / count}, {"map", map / count}};
}

MetricList score_metrics(const ModelConfig& config, const Examples& examples,
                         const std::vector<float>& outputs) {
  std::vector<float> scores;
  for (const float logit : outputs) {
    scores.push_back(static_cast<float>(score_of(config, logit)));
  }
  return {{"pearson", pearson(examples.targets, scores)},
          {"spearmanr", spearman(examples.targets, scores)}};
}

MetricList reranking_figures(const Settings&, const ModelConfig& config, const Questioned& set) {
  MetricList figures = reranking_of(set).scored ? score_metrics(config, {}, {}) : rank_metrics({});
  figures.emplace_back("loss", 0);
  return figures;
}

TaskScore score_reranking(const ModelOutputs& of) {
  TaskScore score;
  if (!of.labelled) return score;
  const ModelConfig& config = of.prepared.config;
  const Examples& examples = of.set.examples;
  LossSettings loss;
  // A row of one passage has a label of its own.
  if (of.prepared.loss.softmax && examples.texts > 1) {
    loss.candidates = CandidateLoss::kSoftmax;
  }
  score.metrics = {{"loss", mean_loss_of(config, loss, examples, of.outputs)}};
  const RerankingSet& memo = reranking_of(of.set);
  const MetricList figures =
      memo.scored ? score_metrics(config, examples, of.outputs) : rank_metrics(by_query(of));
  score.metrics.insert(score.metrics.end(), figures.begin(), figures.end());
  if (!memo.scored) {
    const std::vector<std::vector<RankedPassage>> queries = by_query(of);
    const auto without = std::count_if(queries.begin(), queries.end(), [](const auto& passages) {
      return std::none_of(passages.begin(), passages.end(), [](auto p) { return p.relevant; });
    });
    score.lines.push_back(fmt::format("  {} {} with {}", queries.size(),
                                      queries.size() == 1 ? "query" : "queries",
                                      plural(std::ssize(memo.queries), "passage")));
    if (without > 0) {
      score.lines.push_back(
          fmt::format("  {} without a relevant passage, which count as 0", without));
    }
  }
  return score;
}

// Relevant passages in the lowest places.
EvaluationView view_reranking(const ModelOutputs& of, const TaskScore& score) {
  EvaluationView view;
  const RerankingSet& memo = reranking_of(of.set);
  view.headline =
      evaluation_headline(score.metrics, std::ssize(memo.queries),
                          {.main = memo.scored ? "pearson" : "ndcg@10", .unit = "passage"});
  if (memo.scored || memo.texts.empty()) return view;
  const std::vector<std::vector<RankedPassage>> queries = by_query(of);
  std::vector<std::vector<std::size_t>> ranks;
  for (const auto& passages : queries) ranks.push_back(places(passages));
  std::vector<std::size_t> next(queries.size());
  std::vector<std::pair<std::size_t, std::size_t>> lowest;  // place, passage
  for (std::size_t i = 0; i < memo.queries.size(); ++i) {
    const std::size_t query = memo.queries[i], place = ranks[query][next[query]++];
    if (of.set.examples.targets[i] > 0.5F && place > 1) lowest.emplace_back(place, i);
  }
  std::stable_sort(lowest.begin(), lowest.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  lowest.resize(std::min(lowest.size(), static_cast<std::size_t>(of.settings.report_examples)));
  view.examples.title = "Relevant passages in the lowest places";
  for (const auto& [place, i] : lowest) {
    view.examples.examples.push_back(
        {memo.texts[i],
         {{"place", fmt::format("{} of {}", place, queries[memo.queries[i]].size())},
          {"score", fmt::format("{:.4f}", score_of(of.prepared.config, of.outputs[i]))},
          {"line", fmt::format("{}", of.set.lines[i])}}});
  }
  return view;
}

std::vector<TaskFile> reranking_files(const ModelOutputs& of, const TaskScore&) {
  if (of.labelled) return {};
  const RerankingSet& memo = reranking_of(of.set);
  std::vector<std::vector<std::size_t>> ranks;
  for (const auto& passages : by_query(of)) ranks.push_back(places(passages));
  std::vector<std::size_t> next(ranks.size());
  TaskFile table{"predict_results.txt", "index\tprediction\tline\n"};
  TaskFile lines{"predictions.jsonl", ""};
  for (std::size_t i = 0; i < memo.queries.size(); ++i) {
    const std::size_t query = memo.queries[i];
    const double score = score_of(of.prepared.config, of.outputs[i]);
    table.text += fmt::format("{}\t{:.6f}\t{}\n", i, score, of.set.lines[i]);
    const nlohmann::ordered_json row = {
        {"index", i},     {"line", of.set.lines[i]}, {"query", query},
        {"score", score}, {"logit", of.outputs[i]},  {"place", ranks[query][next[query]++]}};
    lines.text += row.dump() + "\n";
  }
  return {table, lines};
}

std::string reranking_outputs(const ModelConfig&) {
  return "1 score";
}

}  // namespace

const TaskKind kReranking = {.name = "reranking",
                             .head = Task::kReranking,
                             .prepare = prepare_reranking,
                             .figures = reranking_figures,
                             .score = score_reranking,
                             .view = view_reranking,
                             .files = reranking_files,
                             .outputs = reranking_outputs};

}  // namespace dtl::trainer
