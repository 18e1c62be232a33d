#pragma once
// Entities in sequences of tags, and their metrics, by the rules of seqeval 1.2 in its default mode
// (those of conlleval.pl): IOB1, IOB2, IOE and BIOES are told apart by their letters alone. Pure.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/data/metrics.h"
#include "trainer/data/tagged_sentences.h"

namespace dtl::trainer {

struct Entity {
  std::size_t type = 0;            // of EntityFinder::types()
  std::size_t begin = 0, end = 0;  // places in the sequence, both inclusive
  auto operator<=>(const Entity&) const = default;
};

// Knows what each of a model's labels means. Immutable.
class EntityFinder {
 public:
  explicit EntityFinder(const std::vector<std::string>& labels);

  // "LOC", "PER", ..: sorted; of all labels, whether they occur or not. seqeval takes the type of a
  // tag without a letter and '-', such as "NN", from its second character on: "N".
  const std::vector<std::string>& types() const { return types_; }

  // In a sequence of ids of labels. kNoLabel ends a sentence.
  std::vector<Entity> find(std::span<const std::int32_t> tags) const;

 private:
  struct Tag {
    char32_t letter = U'O';
    std::string type;
  };
  static Tag read(std::string_view label);

  std::vector<std::string> types_;
  std::vector<std::pair<char32_t, std::size_t>> tags_;  // by label: letter and type
};

struct EntityScore {
  std::vector<std::string> types;
  std::vector<ClassCounts> counts;  // by type
  double accuracy = 0;              // of tags
};
// truth and predicted: ids of labels with kNoLabel after each sentence, of the same length.
EntityScore score_entities(const EntityFinder& finder, std::span<const std::int32_t> truth,
                           std::span<const std::int32_t> predicted);

// precision, recall, f1 over all types (micro) and accuracy, as run_ner.py names them; with
// `each_type` also overall_precision .. and PER_precision, PER_recall, PER_f1, PER_number. What is
// undefined is 0.
MetricList entity_metrics(const EntityScore& score, bool each_type);

// Whether the labels have letters that mark entities: O, B-PER, I-PER, ..
bool mark_entities(const std::vector<std::string>& labels);

// How tags mark entities: "IOB2", "IOB1", "IOE", "BIOES", "BILOU", or "" for tags that mark none,
// such as parts of speech.
struct TagScheme {
  std::string name;
  std::int64_t odd = 0;  // IOB2: entities that begin with I-
  int odd_line = 0;      // of the first of them
};
TagScheme find_scheme(const TaggedDataset& dataset);

}  // namespace dtl::trainer
