#pragma once
// Data sets of a text with candidates: a question and its possible answers, a query and passages.
// Each candidate is encoded as a pair with the text. The candidates of an example are its texts
// (data/examples.h).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct CandidateRow {
  std::string text;
  std::vector<std::string> candidates;
  std::string label;  // as in the file; empty: none
  int line = 0;       // in the file
  int element = 0;    // index in a JSON list, from 1; 0: not in a list
};

struct CandidateSet {
  std::string path;
  std::vector<CandidateRow> rows;  // each with as many candidates
  std::string text_column;
  std::string start_column;  // its cell comes before each candidate; empty: none
  std::vector<std::string> candidate_columns;
  std::string label_column;              // empty: not read
  std::vector<std::string> unread = {};  // names of the other columns

  std::int64_t candidates() const { return static_cast<std::int64_t>(candidate_columns.size()); }
};

// Which columns to read, by name.
struct CandidateColumns {
  std::string text;
  std::string start = {};
  std::vector<std::string> candidates;
  std::string label = {};  // empty: not read
};

// Chooses among the names of a data set's columns; may throw Error.
using ColumnChooser = std::function<CandidateColumns(const std::vector<std::string>& names)>;

// Throws Error(kBadInput) with file:line for a missing column, a row of another length, bytes that
// are not UTF-8, an empty label. limit: rows; negative: all.
CandidateSet read_candidates(const std::string& path, const ColumnChooser& choose,
                             std::int64_t limit);

// "train.csv: 120 examples; text: sent1; 4 candidates: ending0, ..; label: label; not read: id"
std::string summary(const CandidateSet& set);
// Possible faults for the user: empty texts.
std::vector<std::string> doubts(const CandidateSet& set);

// Tokens of the pairs; no labels. Examples::cut counts cut pairs. The result does not depend on the
// number of threads.
Examples encode_candidates(const CandidateSet& set, const Tokenizer& tokenizer, int max_length,
                           int threads);

// Throws Error(kBadInput) about one row, with file:line.
[[noreturn]] void refuse_row(const CandidateSet& set, const CandidateRow& row,
                             const std::string& reason);

}  // namespace dtl::trainer
