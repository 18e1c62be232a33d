#pragma once
// Learns a WordPiece vocabulary from text: single characters first, then, over and over, the most
// frequent pair of neighbouring pieces becomes a piece (byte-pair merges with the ## prefix).
// Deterministic: equal texts and options give equal vocabularies. Single-threaded; 10 MB of text
// and 8,000 pieces take about two seconds.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

struct VocabularyOptions {
  int size = 8000;            // pieces at most, special tokens included
  int min_frequency = 2;      // a pair seen less often is not merged
  int alphabet_limit = 1000;  // the most frequent characters; words with others are left out
  bool lower_case = true;
};

// The vocabulary in order of id: [PAD] [UNK] [CLS] [SEP] [MASK], characters by code point, the same
// with ##, merged pieces by the time of their merge. Throws Error(kUsage) when the size does not
// even hold the characters.
std::vector<std::string> learn_vocabulary(const TextDataset& dataset,
                                          const VocabularyOptions& options);

}  // namespace dtl::trainer
