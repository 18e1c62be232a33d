// Reads tagged sentences, matches their tags with the model's labels and tokenises word by word. A
// word's first token has its label, as in run_ner.py; with --label_all_tokens the others have one,
// too.
#include "trainer/tasks/load_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/data/dataset_summary.h"
#include "trainer/maths/on_threads.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/report/evaluation_tables.h"
#include "trainer/tasks/entities.h"
#include "trainer/tasks/label_match.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostTagsShown = 10;     // in a line; the rest is only counted
constexpr std::int64_t kMostTagIds = 1 << 20;  // config.json allows this many labels

// The data sets of a run; without those that were not asked for.
struct TaggedFiles {
  std::vector<TaggedDataset> train, evaluation, test;  // at most one each

  std::vector<TaggedDataset*> all() {
    std::vector<TaggedDataset*> sets;
    for (auto* each : {&train, &evaluation, &test}) {
      for (TaggedDataset& set : *each) sets.push_back(&set);
    }
    return sets;
  }
  // The set whose tags decide: of training, else of the evaluation.
  TaggedDataset* first_labelled() {
    return !train.empty() ? &train.front() : !evaluation.empty() ? &evaluation.front() : nullptr;
  }
};

// A name for words that are in the first column in any case would be ignored.
void check_column_options(const Settings& s) {
  std::string first;
  for (const auto& [read, file] : {std::pair{s.do_train, &s.train_file},
                                   {s.do_eval, &s.validation_file},
                                   {s.do_predict, &s.test_file}}) {
    if (!read) continue;
    if (!is_conll_name(*file)) return;
    if (first.empty()) first = *file;
  }
  for (const auto& [option, value] : {std::pair{"--text_column_name", &s.text_column_name},
                                      {"--label_column_name", &s.label_column_name}}) {
    if (value->empty()) continue;
    throw Error(Exit::kUsage, fmt::format("{} {}", option, *value),
                fmt::format("{} is a CoNLL file: the word is in the first column, its tag in the "
                            "last",
                            first),
                fmt::format("{} ''", option));
  }
}

TaggedFiles read_files(const Settings& s, const ModelConfig& config) {
  check_column_options(s);
  TaggedFiles files;
  TaggedOptions options{.words = s.text_column_name, .tags = s.label_column_name};
  if (!s.task_name.empty()) options.task_name = s.task_name;
  // Unless the user names others, the columns of training.
  const auto use_columns = [&](const TextColumns& trained) {
    if (trained.first.size() != 1 || !trained.second.empty()) return;
    if (options.words.empty()) options.words = trained.first[0];
    if (options.tags.empty()) options.tags = trained.label;
  };
  if (s.do_train) {
    options.limit = s.max_train_samples;
    files.train.push_back(read_tagged(s.train_file, options));
    use_columns(files.train.front().columns);
  } else {
    use_columns(config.columns);
  }
  if (s.do_eval) {
    options.limit = s.max_eval_samples;
    files.evaluation.push_back(read_tagged(s.validation_file, options));
  }
  if (s.do_predict) {
    options.limit = s.max_predict_samples;
    options.labelled = false;  // tags that the file may have do not matter
    files.test.push_back(read_tagged(s.test_file, options));
  }
  return files;
}

void rename_tags(TaggedFiles& files, const LabelNames& names) {
  if (names.empty()) return;
  for (TaggedDataset* set : files.all()) {
    for (TaggedSentence& sentence : set->sentences) {
      for (std::string& tag : sentence.tags) {
        if (const auto name = names.find(tag); name != names.end()) tag = name->second;
      }
    }
  }
}

// Plain JSON has ids without the names that they have in a data set of the hub. They mean the
// model's labels if it has names for all of them, else LABEL_0, LABEL_1, ..
LearntLabels labels_of_ids(const std::vector<std::string>& model,
                           const std::map<std::string, std::size_t>& ids, const std::string& path) {
  std::size_t count = model.size();
  for (const auto& [text, id] : ids) count = std::max(count, id + 1);
  LearntLabels result{model};
  if (count > model.size() || has_default_labels(model)) {
    result.labels.clear();
    for (std::size_t i = 0; i < count; ++i) result.labels.push_back(fmt::format("LABEL_{}", i));
    result.notice = fmt::format(
        "{}: its tags are numbers, for which there are no names: 0 is called LABEL_0, and so on; "
        "figures of entities need tags such as B-PER",
        path);
  } else {
    result.notice = fmt::format("{}: its tags are numbers: 0 means the model's {}, and so on", path,
                                model.front());
  }
  for (std::size_t i = 0; i < count; ++i) result.renamed[std::to_string(i)] = result.labels[i];
  return result;
}

void choose_tags(const Settings& s, TaggedFiles& files, ModelConfig& config,
                 std::vector<std::string>& notices) {
  // What transformers assumes for a folder without any.
  if (!s.do_train && config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
  if (const TaggedDataset* data = files.first_labelled()) {
    const std::vector<std::string> names = tag_names(*data);
    const auto ids = label_numbers(names, kMostTagIds);
    LearntLabels chosen = ids          ? labels_of_ids(config.labels, *ids, data->path)
                          : s.do_train ? labels_to_learn(config.labels, names, data->path)
                                       : labels_to_evaluate(config.labels, names, data->path);
    // A model that is only evaluated keeps its outputs.
    if (s.do_train || chosen.labels.size() == config.labels.size()) {
      config.labels = std::move(chosen.labels);
    }
    rename_tags(files, chosen.renamed);
    if (!chosen.notice.empty()) notices.push_back(chosen.notice);
  }
  if (config.labels.size() < 2) {
    throw Error(
        Exit::kBadInput, fmt::format("{}: cannot tag words", s.do_train ? s.train_file : s.model),
        fmt::format("there are fewer than two labels: {}",
                    config.labels.empty() ? "none" : shown_labels(config.labels)),
        s.do_train ? "head -n 20 " + one_shell_word(s.train_file) : "--do_train --train_file FILE");
  }
}

// "O: 120, B-PER: 30": the most frequent tags.
std::string tag_counts(const TaggedDataset& set) {
  std::map<std::string, std::int64_t> counts;
  for (const TaggedSentence& sentence : set.sentences) {
    for (const std::string& tag : sentence.tags) ++counts[tag];
  }
  std::vector<std::pair<std::string, std::int64_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> pieces;
  for (const auto& [tag, count] : order) {
    if (pieces.size() == kMostTagsShown) break;
    pieces.push_back(fmt::format("{}: {}", printable(tag), count));
  }
  std::string text = join(pieces, ", ");
  if (order.size() > pieces.size()) {
    text += fmt::format(" and {} more", order.size() - pieces.size());
  }
  return text;
}

std::string tagged_summary(const TaggedDataset& set, const TagScheme& scheme) {
  std::int64_t words = 0;
  for (const TaggedSentence& sentence : set.sentences) words += std::ssize(sentence.words);
  std::string text = fmt::format(
      "{}: {}, {}", set.path, plural(static_cast<std::int64_t>(set.sentences.size()), "sentence"),
      plural(words, "word"));
  const bool named = !set.columns.first.empty();
  if (named) text += fmt::format("; words: {}", set.columns.first[0]);
  if (set.labelled) {
    text += fmt::format("; tags: {}{}({})", named ? set.columns.label + " " : "",
                        scheme.name.empty() ? "" : scheme.name + " ", tag_counts(set));
  }
  if (!set.unread.empty()) text += fmt::format("; not read: {}", join(set.unread, ", "));
  return text;
}

void doubt_scheme(const TaggedDataset& set, const TagScheme& scheme,
                  std::vector<std::string>& notices) {
  if (scheme.name == "IOB1") {
    notices.push_back(
        fmt::format("{}: the tags are IOB1: an entity begins with I-, and with B- only directly "
                    "after another of its type",
                    set.path));
  } else if (scheme.name == "BILOU") {
    notices.push_back(
        fmt::format("{}: the tags are BILOU; the figures are those of seqeval, which "
                    "knows no L- and U-: it may join entities that are side by side",
                    set.path));
  } else if (scheme.odd > 0) {
    notices.push_back(fmt::format(
        "{}: {} with I- although the tags are IOB2, the first in line {}", set.path,
        scheme.odd == 1 ? "1 entity begins" : fmt::format("{} entities begin", scheme.odd),
        scheme.odd_line));
  }
}

// Ids of labels; for --label_all_tokens also those of a word's further tokens.
struct TagIds {
  std::unordered_map<std::string, std::int32_t> first;
  std::vector<std::int32_t> further;  // by id; kNoLabel: none
};

// run_ner's b_to_i_label: B-PER becomes I-PER if there is one, and other tags stay.
TagIds tag_ids(const std::vector<std::string>& labels, bool all_tokens) {
  TagIds ids;
  for (const std::string& label : labels) {
    ids.first.emplace(label, static_cast<std::int32_t>(ids.first.size()));
  }
  for (const std::string& label : labels) {
    std::string inside = label;
    for (std::size_t at = 0; label.starts_with("B-") && (at = inside.find("B-", at)) != inside.npos;
         at += 2) {
      inside[at] = 'I';
    }
    const auto found = ids.first.find(inside);
    ids.further.push_back(!all_tokens                ? kNoLabel
                          : found != ids.first.end() ? found->second
                                                     : ids.first.at(label));
  }
  return ids;
}

std::int32_t tag_id(const TaggedDataset& set, const TaggedSentence& sentence, std::size_t word,
                    const TagIds& ids, const std::vector<std::string>& labels) {
  const std::string& tag = sentence.tags[word];
  const auto found = ids.first.find(tag);
  if (found != ids.first.end()) return found->second;
  const int line = sentence.line + (is_conll_name(set.path) ? static_cast<int>(word) : 0);
  throw Error(Exit::kBadInput,
              fmt::format("{}: cannot use the tag '{}' of '{}'",
                          row_place(set.path, line, sentence.element), printable(tag),
                          printable(sentence.words[word])),
              fmt::format("the model's labels are {}", shown_labels(labels)),
              show_line(set.path, line));
}

struct EncodedSentences {
  Examples examples;
  std::vector<std::int32_t> words;                                    // [tokens]
  std::int64_t words_cut = 0, without_tokens = 0, first_without = 0;  // first: a line
};

// Appends one sentence. With tags: the labels of its tokens.
void add_sentence(const TaggedDataset& set, const TaggedSentence& sentence,
                  const WordEncoding& encoding, const TagIds& ids,
                  const std::vector<std::string>& labels, EncodedSentences& to) {
  Examples& examples = to.examples;
  examples.ids.insert(examples.ids.end(), encoding.ids.begin(), encoding.ids.end());
  examples.types.resize(examples.ids.size(), 0);
  examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
  if (encoding.words_cut > 0) ++examples.cut;
  to.words_cut += encoding.words_cut;
  to.words.insert(to.words.end(), encoding.words.begin(), encoding.words.end());
  if (!set.labelled) return;
  std::vector<std::int32_t> of_word;
  for (std::size_t i = 0; i < sentence.tags.size(); ++i) {
    of_word.push_back(tag_id(set, sentence, i, ids, labels));
  }
  std::int32_t before = kNoWord;
  for (const std::int32_t word : encoding.words) {
    std::int32_t label = kNoLabel;
    if (word != kNoWord) {
      const std::int32_t own = of_word[static_cast<std::size_t>(word)];
      label = word != before ? own : ids.further[static_cast<std::size_t>(own)];
    }
    examples.token_labels.push_back(label);
    before = word;
  }
}

// Words that leave no token at all, such as a lone control character.
void count_tokenless(const TaggedSentence& sentence, const WordEncoding& encoding,
                     EncodedSentences& to) {
  std::int64_t seen = encoding.words_cut;
  for (std::size_t i = 0; i < encoding.words.size(); ++i) {
    const std::int32_t word = encoding.words[i];
    if (word != kNoWord && (i == 0 || word != encoding.words[i - 1])) ++seen;
  }
  // A word that was cut in two counts on both sides.
  if (encoding.words_cut > 0 || seen >= std::ssize(sentence.words)) return;
  if (to.without_tokens == 0) to.first_without = sentence.line;
  to.without_tokens += std::ssize(sentence.words) - seen;
}

EncodedSentences encode_tagged(const Settings& s, const Prepared& prepared,
                               const TaggedDataset& set) {
  constexpr std::size_t kBlock = 64;  // sentences per task: makes handing out tasks cheap
  const std::vector<TaggedSentence>& sentences = set.sentences;
  std::vector<WordEncoding> encodings(sentences.size());
  on_threads((sentences.size() + kBlock - 1) / kBlock, default_threads(), [&](std::size_t block) {
    const std::size_t end = std::min(sentences.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) {
      encodings[i] = prepared.tokenizer->encode_words(sentences[i].words, prepared.length);
    }
  });
  const TagIds ids = tag_ids(prepared.config.labels, s.label_all_tokens);
  EncodedSentences encoded;
  encoded.examples.starts.push_back(0);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    add_sentence(set, sentences[i], encodings[i], ids, prepared.config.labels, encoded);
    count_tokenless(sentences[i], encodings[i], encoded);
  }
  return encoded;
}

// Encodes a set and tells about it.
EncodedSentences encode_and_tell(const Settings& s, Prepared& prepared, const TaggedDataset& set) {
  const TagScheme scheme = find_scheme(set);
  EncodedSentences encoded = encode_tagged(s, prepared, set);
  std::string line = tagged_summary(set, scheme);
  if (encoded.words_cut > 0) {
    line += fmt::format("; {} of {} cut off at {} tokens", plural(encoded.words_cut, "word"),
                        plural(encoded.examples.cut, "sentence"), prepared.length);
  }
  prepared.data_sets.push_back(line);
  doubt_scheme(set, scheme, prepared.notices);
  if (encoded.without_tokens > 0) {
    prepared.notices.push_back(fmt::format(
        "{}: {} without a token, the first in the sentence of line {}: not learnt, and predicted "
        "as null",
        set.path, plural(encoded.without_tokens, "word"), encoded.first_without));
  }
  return encoded;
}

Questioned questioned_set(const Settings& s, Prepared& prepared, TaggedDataset& dataset,
                          bool reported) {
  Questioned set;
  auto memo = std::make_shared<TaggedSet>();
  EncodedSentences encoded = encode_and_tell(s, prepared, dataset);
  set.examples = std::move(encoded.examples);
  memo->words = std::move(encoded.words);
  for (TaggedSentence& sentence : dataset.sentences) {
    set.lines.push_back(sentence.line);
    if (reported) set.texts.push_back(text_beginning(join(sentence.words, " ")));
    sentence.tags = {};
  }
  memo->sentences = std::move(dataset.sentences);
  set.memo = std::move(memo);
  return set;
}

}  // namespace

void prepare_token_classification(const Settings& s, Prepared& prepared) {
  TaggedFiles files = read_files(s, prepared.config);
  if (s.do_train) prepared.config.columns = files.train.front().columns;
  choose_tags(s, files, prepared.config, prepared.notices);
  if (s.do_train) {
    prepared.train = encode_and_tell(s, prepared, files.train.front()).examples;
  }
  const bool reported = s.do_train && !s.output_dir.empty() && s.report_examples > 0;
  for (TaggedDataset& set : files.evaluation) {
    prepared.evaluation.push_back(questioned_set(s, prepared, set, reported));
  }
  for (TaggedDataset& set : files.test) {
    prepared.test.push_back(questioned_set(s, prepared, set, false));
  }
}

}  // namespace dtl::trainer
