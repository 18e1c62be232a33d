// Tags of words, such as named entities: run_ner.py's task. load_sentences.cc reads the data.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "trainer/tasks/classification.h"
#include "trainer/tasks/entities.h"
#include "trainer/tasks/load_sentences.h"
#include "trainer/tasks/tag_outputs.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

MetricList tag_figures(const Settings& s, const ModelConfig& config, const Questioned&) {
  MetricList figures = entity_metrics(score_entities(EntityFinder(config.labels), {}, {}),
                                      s.return_entity_level_metrics);
  figures.emplace_back("loss", 0);
  return figures;
}

// A table for the screen; of tags, if these mark no entities.
std::vector<std::string> tag_lines(const ModelOutputs& of, const TagScore& score) {
  const std::vector<std::string>& labels = of.prepared.config.labels;
  if (mark_entities(labels)) {
    return class_lines(Problem::kSingleLabel, score.entities.types, score.entities.counts,
                       {"entity", "entities"});
  }
  return class_lines(Problem::kSingleLabel, labels,
                     count_tags(of.set.examples, score.predicted, labels.size()), {"tag", "words"});
}

TaskScore score_tags(const ModelOutputs& of) {
  const ModelConfig& config = of.prepared.config;
  const Examples& examples = of.set.examples;
  auto tags = std::make_shared<TagScore>();
  tags->predicted = best_labels(of.outputs, config.labels.size());
  const TaggedSet& set = tagged_set(of.set);
  for (std::size_t t = 0; t < set.words.size(); ++t) {
    if (set.words[t] == kNoWord) tags->predicted[t] = kNoLabel;
  }
  TaskScore score;
  if (of.labelled) {
    tags->entities =
        score_entities(EntityFinder(config.labels), by_sentence(examples, examples.token_labels),
                       by_sentence(examples, tags->predicted));
    score.metrics = {{"loss", mean_token_loss(examples, of.outputs, 0, examples.size(),
                                              of.prepared.loss.label_smoothing)}};
    const MetricList figures =
        entity_metrics(tags->entities, of.settings.return_entity_level_metrics);
    score.metrics.insert(score.metrics.end(), figures.begin(), figures.end());
    score.lines = tag_lines(of, *tags);
  }
  score.memo = std::move(tags);
  return score;
}

std::string tag_count(const ModelConfig& config) {
  return plural(static_cast<std::int64_t>(config.labels.size()), "label");
}

}  // namespace

const TaskKind kTokenClassification = {.name = "token_classification",
                                       .head = Task::kTokenClassification,
                                       .prepare = prepare_token_classification,
                                       .figures = tag_figures,
                                       .score = score_tags,
                                       .view = view_tags,
                                       .files = tag_files,
                                       .outputs = tag_count};

}  // namespace dtl::trainer
