#pragma once
// Labelled texts from TSV, CSV or JSON lines (run_glue's local files), and their tokenised form.

#include <string>
#include <vector>

#include "trainer/examples.h"
#include "trainer/tokenizer.h"

namespace dtl::trainer {

struct TextExample {
  std::string first, second;  // second is empty when the file has one text column
  std::string label;
};

struct TextDataset {
  std::vector<TextExample> examples;
  bool pairs = false;
};

// By the file's ending: .tsv (tab, no quoting), .csv (RFC 4180), .json/.jsonl (an object per line).
// A header names the columns: label and sentence1[, sentence2], sentence, text, or the first one or
// two others. Throws Error(kBadInput) with file:line. limit < 0: all rows.
TextDataset read_dataset(const std::string& path, std::int64_t limit);

// Sorted unique label texts (whole numbers by value): the id of a label is its index.
std::vector<std::string> label_names(const TextDataset& dataset);

// Tokenises on `threads` threads; the result does not depend on their number. Throws
// Error(kBadInput) for a label that is not among `labels`.
Examples encode_dataset(const TextDataset& dataset, const Tokenizer& tokenizer,
                        const std::vector<std::string>& labels, int max_length, int threads);

}  // namespace dtl::trainer
