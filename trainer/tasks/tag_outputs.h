#pragma once
// What a model of token classification says about a data set: the tags, how report.html shows them
// and the files of predictions. Pure functions, for rank 0, which has the words.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/report/evaluation_tables.h"
#include "trainer/tasks/entities.h"
#include "trainer/tasks/load_sentences.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {

// Made by score(), for view() and files().
struct TagScore : TaskMemo {
  std::vector<std::int32_t> predicted;  // [tokens]; kNoLabel for [CLS] and [SEP]
  EntityScore entities;                 // of a labelled set
};

const TaggedSet& tagged_set(const Questioned& set);
const TagScore& tag_score(const TaskScore& score);

// The labelled tokens with kNoLabel after each sentence, as EntityFinder takes them. `values`: by
// token; those of tokens without a label are left out.
std::vector<std::int32_t> by_sentence(const Examples& examples,
                                      std::span<const std::int32_t> values);

// The mean loss of the labelled tokens of examples [first, last), with outputs [tokens, C].
double mean_token_loss(const Examples& examples, std::span<const float> outputs, std::int64_t first,
                       std::int64_t last, double label_smoothing);

// Occurrences of each label among the labelled tokens.
std::vector<ClassCounts> count_tags(const Examples& examples,
                                    std::span<const std::int32_t> predicted, std::size_t labels);

// The entities (or, if the labels mark none, the tags) in a table, the tags confused most often and
// the sentences with the highest loss.
EvaluationView view_tags(const ModelOutputs& of, const TaskScore& score);

// predictions.txt, as run_ner.py writes it: a line for each sentence, its tags with blanks between
// them. predictions.jsonl: for each sentence words, tags, scores and entities; a word without a
// token has the tag null.
std::vector<TaskFile> tag_files(const ModelOutputs& of, const TaskScore& score);

}  // namespace dtl::trainer
