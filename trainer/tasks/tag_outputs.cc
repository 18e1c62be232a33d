// Counts, sorts and writes; entities.h has the rules of entities.
#include "trainer/tasks/tag_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "trainer/model/label_loss.h"
#include "trainer/report/run_report.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostTableRows = 50, kMostConfused = 10, kMostWrong = 10;

std::size_t place(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// Softmax of one of C outputs.
double score_of(const float* row, std::size_t labels, std::int32_t label) {
  double sum = 0;
  for (std::size_t c = 0; c < labels; ++c) {
    sum += std::exp(static_cast<double>(row[c]) - static_cast<double>(row[label]));
  }
  return 1 / sum;
}

ReportTable counts_of(const std::string& title, const std::vector<std::string>& names,
                      const std::vector<double>& trained, const std::vector<ClassCounts>& counts) {
  ReportTable table{title};
  table.columns = {"", "training", "evaluation", "predicted", "correct", "precision", "recall"};
  std::vector<std::size_t> order(names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() > kMostTableRows) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return counts[a].present > counts[b].present;
    });
    order.resize(kMostTableRows);
    table.note = fmt::format("The {} most frequent of {}.", kMostTableRows, names.size());
  }
  const auto share = [](double part, double whole) {
    return fmt::format("{:.4f}", whole > 0 ? part / whole : 0);
  };
  for (const std::size_t i : order) {
    const ClassCounts& each = counts[i];
    table.rows.push_back({{printable(names[i])},
                          {fmt::format("{:.0f}", trained[i])},
                          {fmt::format("{:.0f}", each.present)},
                          {fmt::format("{:.0f}", each.answered)},
                          {fmt::format("{:.0f}", each.hits)},
                          {share(each.hits, each.answered)},
                          {share(each.hits, each.present)}});
  }
  return table;
}

ReportTable entity_table(const ModelOutputs& of, const TagScore& score) {
  const std::vector<std::string>& labels = of.prepared.config.labels;
  const Examples& training = of.prepared.train;
  if (!mark_entities(labels)) {
    std::vector<double> trained(labels.size());
    for (const std::int32_t label : training.token_labels) {
      if (label != kNoLabel) ++trained[place(label)];
    }
    return counts_of("Tags", labels, trained,
                     count_tags(of.set.examples, score.predicted, labels.size()));
  }
  const EntityFinder finder(labels);
  std::vector<double> trained(finder.types().size());
  for (const Entity& entity : finder.find(by_sentence(training, training.token_labels))) {
    ++trained[entity.type];
  }
  return counts_of("Entities", score.entities.types, trained, score.entities.counts);
}

ReportTable confused_tags(const ModelOutputs& of, const TagScore& score) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> pairs;
  const std::vector<std::int32_t>& truth = of.set.examples.token_labels;
  for (std::size_t t = 0; t < truth.size(); ++t) {
    if (truth[t] != kNoLabel && truth[t] != score.predicted[t]) {
      ++pairs[{truth[t], score.predicted[t]}];
    }
  }
  std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, double>> order(pairs.begin(),
                                                                              pairs.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() > kMostConfused) order.resize(kMostConfused);
  ReportTable table{"Most confused tags"};
  table.columns = {"true", "predicted", "words"};
  const std::vector<std::string>& labels = of.prepared.config.labels;
  for (const auto& [pair, count] : order) {
    table.rows.push_back({{printable(labels[place(pair.first)])},
                          {printable(labels[place(pair.second)])},
                          {fmt::format("{:.0f}", count)}});
  }
  return table;
}

// "EU: B-ORG, predicted O (62.1%)" for each word with a wrong tag.
std::string wrong_words(const ModelOutputs& of, const TagScore& score, std::int64_t example) {
  const std::vector<std::string>& labels = of.prepared.config.labels;
  const Examples& examples = of.set.examples;
  const TaggedSet& set = tagged_set(of.set);
  std::vector<std::string> wrong;
  std::size_t count = 0;
  for (auto t = place(examples.first_token(example)); t < place(examples.first_token(example + 1));
       ++t) {
    const std::int32_t truth = examples.token_labels[t], said = score.predicted[t];
    if (truth == kNoLabel || truth == said || count++ >= kMostWrong) continue;
    const std::string& word = set.sentences[place(example)].words[place(set.words[t])];
    wrong.push_back(
        fmt::format("{}: {}, predicted {} ({:.1f}%)", text_beginning(word),
                    printable(labels[place(truth)]), printable(labels[place(said)]),
                    100 * score_of(&of.outputs[t * labels.size()], labels.size(), said)));
  }
  std::string text = wrong.empty() ? "none" : join(wrong, "; ");
  if (count > wrong.size()) text += fmt::format(" and {} more", count - wrong.size());
  return text;
}

ReportExamples worst_sentences(const ModelOutputs& of, const TagScore& score) {
  ReportExamples all{"Worst sentences",
                     "The sentences of the evaluation set with the highest mean loss."};
  if (of.set.texts.empty()) return all;
  std::vector<std::pair<double, std::int64_t>> losses;  // negative, so that the highest is first
  for (std::int64_t i = 0; i < of.set.examples.size(); ++i) {
    losses.emplace_back(-mean_token_loss(of.set.examples, of.outputs, i, i + 1, 0), i);
  }
  const auto count = std::min(losses.size(), place(of.settings.report_examples));
  std::partial_sort(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(count),
                    losses.end());
  losses.resize(count);
  for (const auto& [loss, i] : losses) {
    all.examples.push_back({of.set.texts[place(i)],
                            {{"wrong tags", wrong_words(of, score, i)},
                             {"loss", figure_text("loss", -loss)},
                             {"line", fmt::format("{}", of.set.lines[place(i)])}}});
  }
  return all;
}

// A word's tag and its probability.
struct WordTag {
  std::int32_t label = kNoLabel;
  double score = 0;
};

// Those of an example's words; a word without a token keeps kNoLabel.
std::vector<WordTag> word_tags(const ModelOutputs& of, const TagScore& score,
                               std::int64_t example) {
  const TaggedSet& set = tagged_set(of.set);
  const std::size_t labels = of.prepared.config.labels.size();
  std::vector<WordTag> tags(set.sentences[place(example)].words.size());
  for (auto t = place(of.set.examples.first_token(example));
       t < place(of.set.examples.first_token(example + 1)); ++t) {
    if (set.words[t] == kNoWord) continue;
    WordTag& tag = tags[place(set.words[t])];
    if (tag.label != kNoLabel) continue;  // the first token decides
    tag.label = score.predicted[t];
    tag.score = score_of(&of.outputs[t * labels], labels, tag.label);
  }
  return tags;
}

// run_ner's line: of each word's first token, or with --label_all_tokens of all its tokens.
std::string prediction_line(const ModelOutputs& of, const TagScore& score, std::int64_t example) {
  const TaggedSet& set = tagged_set(of.set);
  std::vector<std::string> tags;
  std::int32_t before = kNoWord;
  for (auto t = place(of.set.examples.first_token(example));
       t < place(of.set.examples.first_token(example + 1)); ++t) {
    const std::int32_t word = set.words[t];
    if (word != kNoWord && (word != before || of.settings.label_all_tokens)) {
      tags.push_back(of.prepared.config.labels[place(score.predicted[t])]);
    }
    before = word;
  }
  return join(tags, " ") + "\n";
}

double rounded(double probability) {
  return std::round(probability * 1e6) / 1e6;
}

using OrderedJson = nlohmann::ordered_json;

OrderedJson entities_json(const EntityFinder& finder, const std::vector<WordTag>& tags) {
  std::vector<std::int32_t> labels;
  for (const WordTag& tag : tags) labels.push_back(tag.label);
  OrderedJson list = OrderedJson::array();
  for (const Entity& entity : finder.find(labels)) {
    double sum = 0;
    for (std::size_t i = entity.begin; i <= entity.end; ++i) sum += tags[i].score;
    list.push_back({{"type", finder.types()[entity.type]},
                    {"begin", entity.begin},
                    {"end", entity.end + 1},
                    {"score", rounded(sum / static_cast<double>(entity.end + 1 - entity.begin))}});
  }
  return list;
}

std::string prediction_json(const ModelOutputs& of, const std::vector<WordTag>& tags,
                            const EntityFinder* finder, std::int64_t example) {
  OrderedJson json;
  json["line"] = of.set.lines[place(example)];
  json["words"] = tagged_set(of.set).sentences[place(example)].words;
  json["tags"] = OrderedJson::array();
  json["scores"] = OrderedJson::array();
  for (const WordTag& tag : tags) {
    const bool tagged = tag.label != kNoLabel;
    json["tags"].push_back(tagged ? OrderedJson(of.prepared.config.labels[place(tag.label)])
                                  : OrderedJson());
    json["scores"].push_back(tagged ? OrderedJson(rounded(tag.score)) : OrderedJson());
  }
  if (finder != nullptr) json["entities"] = entities_json(*finder, tags);
  return json.dump() + "\n";
}

}  // namespace

const TaggedSet& tagged_set(const Questioned& set) {
  return static_cast<const TaggedSet&>(*set.memo);
}

const TagScore& tag_score(const TaskScore& score) {
  return static_cast<const TagScore&>(*score.memo);
}

std::vector<std::int32_t> by_sentence(const Examples& examples,
                                      std::span<const std::int32_t> values) {
  std::vector<std::int32_t> all;
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    for (auto t = place(examples.first_token(i)); t < place(examples.first_token(i + 1)); ++t) {
      if (examples.token_labels[t] != kNoLabel) all.push_back(values[t]);
    }
    all.push_back(kNoLabel);
  }
  return all;
}

double mean_token_loss(const Examples& examples, std::span<const float> outputs, std::int64_t first,
                       std::int64_t last, double label_smoothing) {
  if (examples.ids.empty()) return 0;
  const std::size_t labels = outputs.size() / examples.ids.size();
  Examples tokens;  // one example per labelled token
  std::vector<float> rows;
  for (auto t = place(examples.first_token(first)); t < place(examples.first_token(last)); ++t) {
    if (examples.token_labels[t] == kNoLabel) continue;
    tokens.labels.push_back(examples.token_labels[t]);
    const auto row = outputs.subspan(t * labels, labels);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return mean_loss(Problem::kSingleLabel, tokens, rows, {.label_smoothing = label_smoothing});
}

std::vector<ClassCounts> count_tags(const Examples& examples,
                                    std::span<const std::int32_t> predicted, std::size_t labels) {
  std::vector<ClassCounts> counts(labels);
  for (std::size_t t = 0; t < examples.token_labels.size(); ++t) {
    const std::int32_t truth = examples.token_labels[t];
    if (truth == kNoLabel) continue;
    ++counts[place(truth)].present;
    ++counts[place(predicted[t])].answered;
    if (truth == predicted[t]) ++counts[place(truth)].hits;
  }
  return counts;
}

EvaluationView view_tags(const ModelOutputs& of, const TaskScore& score) {
  const TagScore& tags = tag_score(score);
  EvaluationView view;
  view.headline = evaluation_headline(
      score.metrics, of.set.examples.size(),
      {.main = mark_entities(of.prepared.config.labels) ? "f1" : "accuracy", .unit = "sentence"});
  view.tables = {entity_table(of, tags), confused_tags(of, tags)};
  view.examples = worst_sentences(of, tags);
  return view;
}

std::vector<TaskFile> tag_files(const ModelOutputs& of, const TaskScore& score) {
  if (of.labelled) return {};
  const TagScore& tags = tag_score(score);
  const EntityFinder finder(of.prepared.config.labels);
  const bool entities = mark_entities(of.prepared.config.labels);
  TaskFile lines{"predictions.txt", ""}, json{"predictions.jsonl", ""};
  for (std::int64_t i = 0; i < of.set.examples.size(); ++i) {
    lines.text += prediction_line(of, tags, i);
    json.text += prediction_json(of, word_tags(of, tags, i), entities ? &finder : nullptr, i);
  }
  return {lines, json};
}

}  // namespace dtl::trainer
