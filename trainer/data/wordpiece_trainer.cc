// Three stages: count words, split each into characters, merge the most frequent pair until the
// vocabulary is full. Merges work on distinct words with counts, so the time depends on the number
// of distinct words, not on the length of the text.
#include "trainer/data/wordpiece_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/wordpiece_text.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMaxWordCharacters = 100;  // the tokenizer never matches longer words

using WordCounts = std::unordered_map<std::string, std::int64_t>;

WordCounts count_words(const TextDataset& dataset, bool lower_case) {
  const TextRules rules{.strip_accents = lower_case, .lower_case = lower_case};
  WordCounts counts;
  std::vector<std::string> words;
  for (const TextExample& example : dataset.examples) {
    for (const std::string* text : {&example.first, &example.second}) {
      words.clear();
      split_words(normalize(*text, rules), words);
      for (std::string& word : words) ++counts[std::move(word)];
    }
  }
  return counts;
}

// The most frequent characters, at most `limit`; of equally frequent ones the lower code points.
std::set<char32_t> choose_alphabet(const WordCounts& words, int limit) {
  std::map<char32_t, std::int64_t> counts;
  for (const auto& [word, count] : words) {
    for (const char32_t c : code_points(word)) counts[c] += count;
  }
  std::vector<std::pair<std::int64_t, char32_t>> ranked;
  for (const auto& [c, count] : counts) ranked.emplace_back(-count, c);
  // Negative counts sort the most frequent first and, of equal ones, the lowest code point.
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > static_cast<std::size_t>(limit))
    ranked.resize(static_cast<std::size_t>(limit));
  std::set<char32_t> alphabet;
  for (const auto& [count, c] : ranked) alphabet.insert(c);
  return alphabet;
}

using PieceId = std::int32_t;  // index into the vocabulary

struct Word {
  std::vector<PieceId> pieces;
  std::int64_t count = 0;
};

// The pieces known so far, by id and by text.
class Pieces {
 public:
  PieceId add(const std::string& text) {
    const auto [entry, added] = ids_.emplace(text, static_cast<PieceId>(texts_.size()));
    if (added) texts_.push_back(text);
    return entry->second;
  }
  // Different merges may spell the same piece, which then gets one id. The right piece always
  // begins with "##", because only the first piece of a word does not.
  PieceId merge(PieceId left, PieceId right) {
    return add(texts_[static_cast<std::size_t>(left)] +
               texts_[static_cast<std::size_t>(right)].substr(2));
  }
  std::size_t size() const { return texts_.size(); }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, PieceId> ids_;
};

// Splits words into characters. Sorted by text, so that nothing depends on hashing.
std::vector<Word> spell_words(const WordCounts& counts, const std::set<char32_t>& alphabet,
                              Pieces& pieces) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Word> words;
  for (const auto& [text, count] : sorted) {
    const std::u32string characters = code_points(text);
    const bool known = std::all_of(characters.begin(), characters.end(),
                                   [&](char32_t c) { return alphabet.count(c) != 0; });
    if (!known || characters.size() > kMaxWordCharacters) continue;
    Word word;
    word.count = count;
    for (const char32_t c : characters) {
      std::string piece = word.pieces.empty() ? "" : "##";
      append_utf8(piece, c);
      word.pieces.push_back(pieces.add(piece));
    }
    words.push_back(std::move(word));
  }
  return words;
}

// Counts of adjacent pieces, updated as words change. The heap may hold old counts. They are
// corrected at the top of the heap, because only the top pair's count matters.
class PairCounts {
 public:
  explicit PairCounts(std::vector<Word>& words) : words_(words) {
    for (std::size_t i = 0; i < words_.size(); ++i) add_pairs(i, +1);
    for (const auto& [pair, where] : pairs_) heap_.push({where.count, pair_of(pair)});
  }

  struct Best {
    std::int64_t count = 0;
    std::pair<PieceId, PieceId> pair;
    // The most frequent pair first; of equally frequent ones the one with the lowest ids.
    bool operator<(const Best& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  // count is 0 if no pair is left.
  Best most_frequent() {
    while (!heap_.empty()) {
      const Best best = heap_.top();
      const auto found = pairs_.find(key(best.pair));
      const std::int64_t now = found == pairs_.end() ? 0 : found->second.count;
      if (now == best.count && now > 0) return best;
      heap_.pop();
      // replace() pushes each pair that grew, so counts in the heap are never too low. Push a pair
      // whose count is too high again with its real count.
      if (now > 0) heap_.push({now, best.pair});
    }
    return {};
  }

  // Removes each word with the pair from the counts, merges, and adds it again.
  void replace(std::pair<PieceId, PieceId> pair, PieceId merged) {
    std::vector<std::size_t> where = std::move(pairs_[key(pair)].words);
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    grown_.clear();
    for (const std::size_t i : where) {
      add_pairs(i, -1);
      merge_in(words_[i].pieces, pair, merged);
      add_pairs(i, +1);
    }
    pairs_.erase(key(pair));
    for (const std::uint64_t grown : grown_) {
      const auto found = pairs_.find(grown);
      if (found != pairs_.end()) heap_.push({found->second.count, pair_of(grown)});
    }
  }

 private:
  struct Where {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // all words with the pair, and some that lost it
  };

  static std::uint64_t key(std::pair<PieceId, PieceId> pair) {
    return (static_cast<std::uint64_t>(pair.first) << 32) | static_cast<std::uint32_t>(pair.second);
  }
  static std::pair<PieceId, PieceId> pair_of(std::uint64_t key) {
    return {static_cast<PieceId>(key >> 32), static_cast<PieceId>(key & 0xFFFFFFFF)};
  }

  // sign -1 removes a word's pairs from the counts. The word's index stays in Where::words;
  // merge_in() then finds no pair there.
  void add_pairs(std::size_t index, int sign) {
    const Word& word = words_[index];
    for (std::size_t i = 1; i < word.pieces.size(); ++i) {
      const std::uint64_t pair = key({word.pieces[i - 1], word.pieces[i]});
      Where& where = pairs_[pair];
      where.count += sign * word.count;
      if (sign > 0) {
        if (where.words.empty() || where.words.back() != index) where.words.push_back(index);
        grown_.insert(pair);
      }
    }
  }

  // From the left, without overlap: x x x becomes xx x.
  static void merge_in(std::vector<PieceId>& pieces, std::pair<PieceId, PieceId> pair,
                       PieceId merged) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool both =
          i + 1 < pieces.size() && pieces[i] == pair.first && pieces[i + 1] == pair.second;
      pieces[kept++] = both ? merged : pieces[i];
      if (both) ++i;
    }
    pieces.resize(kept);
  }

  std::vector<Word>& words_;
  std::unordered_map<std::uint64_t, Where> pairs_;
  std::set<std::uint64_t> grown_;  // pairs whose count one replacement raised
  std::priority_queue<Best> heap_;
};

}  // namespace

std::vector<std::string> learn_vocabulary(const TextDataset& dataset,
                                          const VocabularyOptions& options) {
  const WordCounts counts = count_words(dataset, options.lower_case);
  const std::set<char32_t> alphabet = choose_alphabet(counts, options.alphabet_limit);
  Pieces pieces;
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) pieces.add(special);
  // All characters in both forms, even if one form does not occur.
  for (const char* prefix : {"", "##"}) {
    for (const char32_t c : alphabet) {
      std::string piece(prefix);
      append_utf8(piece, c);
      pieces.add(piece);
    }
  }
  const auto size = static_cast<std::size_t>(std::max(0, options.size));
  if (pieces.size() > size) {
    throw Error(Exit::kUsage, fmt::format("--vocab_size {}", options.size),
                fmt::format("the special tokens and the characters of the text are {} tokens",
                            pieces.size()),
                fmt::format("--vocab_size {}", 2 * pieces.size()));
  }
  std::vector<Word> words = spell_words(counts, alphabet, pieces);
  PairCounts pairs(words);
  while (pieces.size() < size) {
    const PairCounts::Best best = pairs.most_frequent();
    if (best.count < std::max(1, options.min_frequency)) break;
    pairs.replace(best.pair, pieces.merge(best.pair.first, best.pair.second));
  }
  return pieces.take();
}

}  // namespace dtl::trainer
