#pragma once
// Sentences whose words have tags, for token classification: from CoNLL files, or from columns of
// JSON or CSV. Knows no model. Pure but for the reading; errors are Error(kBadInput) with
// file:line.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // one per word; empty if tags were not read
  int line = 0;                   // in the file, of the first word
  int element = 0;                // index in a JSON list, from 1; 0: not in a list
};

struct TaggedDataset {
  std::vector<TaggedSentence> sentences = {};
  std::string path = {};
  bool labelled = true;
  TextColumns columns = {};              // that were read; none in a CoNLL file
  std::vector<std::string> unread = {};  // names of the other columns
};

struct TaggedOptions {
  std::string words = {}, tags = {};  // columns; empty: as run_ner.py finds them
  std::string task_name = "ner";      // run_ner's column of tags is TASK_tags
  bool labelled = true;               // false: do not read tags
  std::int64_t limit = -1;            // sentences; negative: all
};

// Whether the name is that of a CoNLL file: .conll, .iob, .bio or .txt.
bool is_conll_name(std::string_view path);

// CoNLL: a word per line, first the word, last its tag, with tabs or blanks between columns; blank
// lines and -DOCSTART- lines end a sentence. In a file with tabs, a line that begins with '#' and
// has no tab is a comment, as in CoNLL-U. Other files (dataset_rows.h) have a sentence per row: the
// words and the tags are JSON lists, or in a cell of text a list of Python, or separated by blanks.
TaggedDataset read_tagged(const std::string& path, const TaggedOptions& options);

// The tags that occur, sorted by bytes as run_ner.py sorts them.
std::vector<std::string> tag_names(const TaggedDataset& dataset);

}  // namespace dtl::trainer
