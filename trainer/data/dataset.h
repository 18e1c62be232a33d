#pragma once
// Labelled texts from TSV, CSV or JSON lines (the local files of run_glue and run_classification),
// and their tokenised form.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/dataset_rows.h"
#include "trainer/data/examples.h"
#include "trainer/files/model_config.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct TextExample {
  std::string first, second;  // second is empty when the file has one text column
  std::string label;          // as in the file; a number for regression; empty: not labelled
  std::vector<std::string> labels = {};  // Problem::kMultiLabel, instead of label
  float target = 0;                      // Problem::kRegression, the value of label
  int line = 0;                          // where it is in the file, 0: nowhere
  int element = 0;                       // its number in a JSON list, 0: it is in none
};

struct TextDataset {
  std::vector<TextExample> examples = {};
  bool pairs = false;
  Problem problem = Problem::kSingleLabel;
  bool labelled = true;
  std::string path = {};
  std::int64_t dropped = 0;              // rows that the task says to leave out
  TextColumns columns = {};              // that were read; no label where none was looked at
  std::vector<std::string> unread = {};  // names of the other columns
  bool guessed = false;                  // texts were found by what the columns hold
  int header_line = 0;                   // of the names of the columns
  BlankLines blank_lines = {};           // that were left out
};

// How to read a file of labelled texts.
struct DatasetOptions {
  // Columns to join, with text_delimiter between them, into one text. Empty: choose_texts()
  // chooses.
  std::vector<std::string> text_columns = {};
  std::string second_column = {};  // of pairs; only beside text_columns
  std::string text_delimiter = " ";
  std::string label_column = "label";
  // kMultiLabel: a cell holds labels with label_delimiter between them (JSON: or a list of them);
  // an empty cell has none. kRegression: a number.
  Problem problem = Problem::kSingleLabel;
  char label_delimiter = ',';
  bool labelled = true;     // false: labels, if there are any, are not looked at
  std::int64_t limit = -1;  // rows; negative: all
  bool trained = false;     // the model was trained on text_columns and second_column
};

// By the file's ending: .tsv (tab, no quoting), .csv (RFC 4180), .json/.jsonl (an object per line,
// a list of objects, or an object with such a list as "data").
// A header names the columns. Throws Error(kBadInput) with file:line for what cannot be read: a
// column that is missing, a row of another length, bytes that are not UTF-8, NUL, a bad number.
TextDataset read_dataset(const std::string& path, const DatasetOptions& options);
TextDataset read_dataset(const std::string& path, std::int64_t limit);

// A finite number and nothing else.
std::optional<float> finite_number(std::string_view text);

// Sorted unique label texts (whole numbers by value): the id of a label is its index. LABEL_0 for
// regression.
std::vector<std::string> label_names(const TextDataset& dataset);

// True when every label is a number and one of them is not a whole one: run_glue then trains a
// regression.
bool has_float_labels(const TextDataset& dataset);

// Tokenises on `threads` threads; the result does not depend on their number. The dataset's problem
// says what is to be learnt: labels (kSingleLabel), targets [N, 1] (kRegression) or targets
// [N, labels] of 0 and 1 (kMultiLabel); nothing when it is not labelled. Throws Error(kBadInput),
// with file:line, for a label that is not among `labels`.
Examples encode_dataset(const TextDataset& dataset, const Tokenizer& tokenizer,
                        const std::vector<std::string>& labels, int max_length, int threads);

}  // namespace dtl::trainer
