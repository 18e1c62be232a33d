#pragma once
// Data sets whose rows are several texts: pairs (anchor and positive), triplets, more negatives, or
// two texts and a score. Reads the formats of data/dataset_rows.h, and chooses columns as
// sentence-transformers' collator does: all texts in the file's order. Only rank 0 uses it. Errors
// are Error(kBadInput) with file:line.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct TextGroup {
  std::vector<std::string> texts;
  float score = 0;
  int line = 0, element = 0;  // in the file; element: in a JSON list, from 1
};

enum class Scores { kIgnored, kIfThere, kNeeded };

struct TextGroupOptions {
  std::vector<std::string> text_columns = {};  // empty: all but the score and numbers of rows
  std::string score_column = {};  // empty: the first of label, labels, score and scores
  Scores scores = Scores::kIfThere;
  std::size_t least_texts = 1;  // in each row
  bool ragged = false;          // rows may have different numbers of texts
  std::int64_t limit = -1;      // rows; negative: all
};

struct TextGroups {
  std::string path = {};
  std::vector<TextGroup> rows = {};       // unless ragged, all with the same number of texts
  std::vector<std::string> columns = {};  // of texts, in order; a name for each text of row 1
  std::string score_column = {};          // empty: no scores were read
  std::vector<std::string> unread = {};   // names of the other columns
  std::int64_t empty_texts = 0;
  int first_empty = 0;  // its line

  bool scored() const { return !score_column.empty(); }
  std::size_t texts() const { return columns.size(); }
};

// A cell of JSON may be a list of texts, such as several negatives; all rows must then have as
// many.
TextGroups read_text_groups(const std::string& path, const TextGroupOptions& options);

// "pairs.csv: 1200 examples of 2 texts: query, passage; score: score (0 to 5); not read: id"
std::string summary(const TextGroups& groups);

// How texts become tokens.
struct TextEncoding {
  const Tokenizer& tokenizer;
  int max_length = 0;
  bool lower_case = false;  // of texts, before the tokenizer
  int threads = 1;          // the result does not depend on it
};
// A prompt and the text after it.
using PromptedText = std::pair<std::string, const std::string*>;
// One text per example. `cut` counts texts.
Examples encode_texts(const std::vector<PromptedText>& texts, const TextEncoding& how);
// prompts: one for each text of a row. Sets targets to the scores.
Examples encode_text_groups(const TextGroups& groups, const std::vector<std::string>& prompts,
                            const TextEncoding& how);

}  // namespace dtl::trainer
