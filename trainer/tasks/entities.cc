// seqeval joins all sentences with an O after each and runs one loop over them; so does find(),
// with kNoLabel for that O. Its odd cases are kept: a tag such as N after '.' ends an entity that
// never began, so that it begins where the previous one did.
#include "trainer/tasks/entities.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kNoType = static_cast<std::size_t>(-1);  // before the first tag

bool is_one_of(char32_t letter, std::u32string_view letters) {
  return letters.find(letter) != letters.npos;
}

// seqeval's end_of_chunk.
bool ends_entity(char32_t before, char32_t letter, bool same_type) {
  if (is_one_of(before, U"ES")) return true;
  if (is_one_of(before, U"BI") && is_one_of(letter, U"BSO")) return true;
  return !is_one_of(before, U"O.") && !same_type;
}

// seqeval's start_of_chunk.
bool starts_entity(char32_t before, char32_t letter, bool same_type) {
  if (is_one_of(letter, U"BS")) return true;
  if (is_one_of(before, U"ESO") && is_one_of(letter, U"EI")) return true;
  return !is_one_of(letter, U"O.") && !same_type;
}

double quotient(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

struct EntityFigures {
  double precision = 0, recall = 0, f1 = 0;
};
// In the order of seqeval's operations, for the same bits.
EntityFigures entity_figures(const ClassCounts& counts) {
  EntityFigures figures{quotient(counts.hits, counts.answered),
                        quotient(counts.hits, counts.present)};
  const double sum = figures.precision + figures.recall;
  figures.f1 = 2 * figures.precision * figures.recall / (sum == 0 ? 1 : sum);
  return figures;
}

// "B-PER": 'B'. Nothing for a tag that is neither O nor such.
char scheme_letter(const std::string& tag) {
  if (tag == "O") return 'O';
  const bool marks = tag.size() > 2 && tag[1] == '-';
  return marks && std::string_view("BIESLU").find(tag[0]) != std::string_view::npos ? tag[0] : '\0';
}

// What the tags of a data set have.
struct SchemeCounts {
  std::set<char> letters;
  std::int64_t begins_with_i = 0, begins = 0;  // begins: B- not directly after the same type
  int first_line = 0;
};

void count_letters(const TaggedSentence& sentence, bool line_each, SchemeCounts& counts) {
  std::string before;  // type of the previous tag; empty: outside
  for (std::size_t i = 0; i < sentence.tags.size(); ++i) {
    const char letter = scheme_letter(sentence.tags[i]);
    counts.letters.insert(letter);
    const std::string type = letter == 'O' || letter == '\0' ? "" : sentence.tags[i].substr(2);
    if (letter == 'B' && type != before) ++counts.begins;
    if (letter == 'I' && type != before && counts.begins_with_i++ == 0) {
      counts.first_line = sentence.line + (line_each ? static_cast<int>(i) : 0);
    }
    before = type;
  }
}

}  // namespace

EntityFinder::Tag EntityFinder::read(std::string_view label) {
  std::size_t at = 0;
  Tag tag;
  if (!label.empty()) tag.letter = next_code_point(label, at);
  tag.type = label.substr(at);
  // "-PER" to "PER", "N-X" to "X".
  if (const std::size_t dash = tag.type.find('-'); dash != tag.type.npos) {
    tag.type.erase(0, dash + 1);
  }
  if (tag.type.empty()) tag.type = "_";
  return tag;
}

EntityFinder::EntityFinder(const std::vector<std::string>& labels) {
  std::set<std::string> types, others;
  for (const std::string& label : labels) {
    const Tag tag = read(label);
    (is_one_of(tag.letter, U"O.") ? others : types).insert(tag.type);
  }
  types_.assign(types.begin(), types.end());
  // The types of tags outside entities come after them, and have no name.
  std::vector<std::string> all = types_;
  others.insert("_");
  for (const std::string& type : others) {
    if (!types.contains(type)) all.push_back(type);
  }
  const auto place = [&](const std::string& type) {
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), type) - all.begin());
  };
  for (const std::string& label : labels) {
    const Tag tag = read(label);
    tags_.emplace_back(tag.letter, place(tag.type));
  }
  tags_.emplace_back(U'O', place("_"));  // kNoLabel
}

std::vector<Entity> EntityFinder::find(std::span<const std::int32_t> tags) const {
  std::vector<Entity> entities;
  std::pair<char32_t, std::size_t> before{U'O', kNoType};
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    const std::int32_t label = i < tags.size() ? tags[i] : kNoLabel;
    const auto& tag = label == kNoLabel ? tags_.back() : tags_[static_cast<std::size_t>(label)];
    const bool same_type = tag.second == before.second;
    if (ends_entity(before.first, tag.first, same_type)) {
      entities.push_back({before.second, begin, i - 1});
    }
    if (starts_entity(before.first, tag.first, same_type)) begin = i;
    before = tag;
  }
  return entities;
}

EntityScore score_entities(const EntityFinder& finder, std::span<const std::int32_t> truth,
                           std::span<const std::int32_t> predicted) {
  EntityScore score{finder.types(), std::vector<ClassCounts>(finder.types().size())};
  std::vector<Entity> true_ones = finder.find(truth), found = finder.find(predicted), both;
  std::sort(true_ones.begin(), true_ones.end());
  std::sort(found.begin(), found.end());
  std::set_intersection(true_ones.begin(), true_ones.end(), found.begin(), found.end(),
                        std::back_inserter(both));
  for (const Entity& entity : true_ones) ++score.counts[entity.type].present;
  for (const Entity& entity : found) ++score.counts[entity.type].answered;
  for (const Entity& entity : both) ++score.counts[entity.type].hits;
  double same = 0, all = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == kNoLabel) continue;
    ++all;
    same += truth[i] == predicted[i] ? 1 : 0;
  }
  score.accuracy = quotient(same, all);
  return score;
}

MetricList entity_metrics(const EntityScore& score, bool each_type) {
  ClassCounts sum;
  for (const ClassCounts& counts : score.counts) {
    sum.present += counts.present;
    sum.answered += counts.answered;
    sum.hits += counts.hits;
  }
  const EntityFigures all = entity_figures(sum);
  const MetricList overall = {{"precision", all.precision},
                              {"recall", all.recall},
                              {"f1", all.f1},
                              {"accuracy", score.accuracy}};
  MetricList metrics = overall;
  if (!each_type) return metrics;
  for (const auto& [name, value] : overall) metrics.emplace_back("overall_" + name, value);
  for (std::size_t t = 0; t < score.types.size(); ++t) {
    const EntityFigures figures = entity_figures(score.counts[t]);
    const std::string& type = score.types[t];
    metrics.emplace_back(type + "_precision", figures.precision);
    metrics.emplace_back(type + "_recall", figures.recall);
    metrics.emplace_back(type + "_f1", figures.f1);
    metrics.emplace_back(type + "_number", score.counts[t].present);
  }
  return metrics;
}

bool mark_entities(const std::vector<std::string>& labels) {
  return std::all_of(labels.begin(), labels.end(),
                     [](const std::string& label) { return scheme_letter(label) != '\0'; });
}

TagScheme find_scheme(const TaggedDataset& dataset) {
  SchemeCounts counts;
  const bool line_each = is_conll_name(dataset.path);
  for (const TaggedSentence& each : dataset.sentences) count_letters(each, line_each, counts);
  const auto has = [&](char letter) { return counts.letters.contains(letter); };
  if (has('\0') || counts.letters.empty() || (counts.letters.size() == 1 && has('O'))) return {};
  if (has('L') || has('U')) return {"BILOU"};
  if (has('E') || has('S')) return {has('B') || has('S') ? "BIOES" : "IOE"};
  // In IOB1, B- is only for an entity directly after another of its type.
  if (counts.begins_with_i > 0 && counts.begins == 0) return {"IOB1"};
  return {"IOB2", counts.begins_with_i, counts.first_line};
}

}  // namespace dtl::trainer
