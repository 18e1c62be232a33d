#pragma once
// Labelled texts from TSV, CSV or JSON lines (the local files of run_glue and run_classification),
// and their tokenised form.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/dataset_rows.h"
#include "trainer/data/examples.h"
#include "trainer/families/model_config.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct TextExample {
  std::string first, second;  // second is empty when the file has one text column
  std::string label;          // as in the file; for regression a number; empty: not labelled
  std::vector<std::string> labels = {};  // Problem::kMultiLabel, instead of label
  float target = 0;                      // Problem::kRegression, the value of label
  int line = 0;                          // line in the file; 0: none
  int element = 0;                       // index in a JSON list, from 1; 0: not in a list
};

struct TextDataset {
  std::vector<TextExample> examples = {};
  bool pairs = false;
  Problem problem = Problem::kSingleLabel;
  bool labelled = true;
  std::string path = {};
  std::int64_t dropped = 0;              // rows that the task leaves out
  TextColumns columns = {};              // that were read; no label if labels were not read
  std::vector<std::string> unread = {};  // names of the other columns
  bool guessed = false;                  // text columns were guessed from the cells
  int header_line = 0;                   // line of the column names
  BlankLines blank_lines = {};           // blank lines that were skipped
};

// How to read a file of labelled texts.
struct DatasetOptions {
  // Columns to join into one text, separated by text_delimiter. Empty: choose_texts() guesses.
  std::vector<std::string> text_columns = {};
  std::string second_column = {};  // second text of a pair; only with text_columns
  std::string text_delimiter = " ";
  std::string label_column = "label";
  // kMultiLabel: a cell holds labels separated by label_delimiter (in JSON also a list of labels);
  // an empty cell has none. kRegression: a number.
  Problem problem = Problem::kSingleLabel;
  char label_delimiter = ',';
  bool labelled = true;              // false: ignore labels
  std::int64_t limit = -1;           // rows; negative: all
  bool trained = false;              // the model was trained on text_columns and second_column
  std::string unlabelled_hint = {};  // what to try if no column can be that of the labels
};

// Reads by file name: .tsv (tab, no quoting), .csv (RFC 4180), .json/.jsonl (an object per line, a
// list of objects, or an object with such a list as "data"). A header names the columns. Throws
// Error(kBadInput) with file:line for a missing column, a row of another length, bytes that are not
// UTF-8, NUL, a bad number.
TextDataset read_dataset(const std::string& path, const DatasetOptions& options);
TextDataset read_dataset(const std::string& path, std::int64_t limit);

// Parses a finite number and nothing else.
std::optional<float> finite_number(std::string_view text);

// Sorted unique label texts (whole numbers by value): the id of a label is its index. LABEL_0 for
// regression.
std::vector<std::string> label_names(const TextDataset& dataset);

// True if every label is a number and at least one is not whole: run_glue then trains a regression.
bool has_float_labels(const TextDataset& dataset);

// Tokenises on `threads` threads; the result does not depend on their number. The dataset's problem
// selects what it writes: labels (kSingleLabel), targets [N, 1] (kRegression) or targets [N,
// labels] of 0 and 1 (kMultiLabel); nothing for unlabelled data. Throws Error(kBadInput) with
// file:line for a label that is not in `labels`.
Examples encode_dataset(const TextDataset& dataset, const Tokenizer& tokenizer,
                        const std::vector<std::string>& labels, int max_length, int threads);

}  // namespace dtl::trainer
