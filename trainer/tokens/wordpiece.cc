// Turns text into ids: finds verbatim tokens, normalises, finds normalised tokens, splits words and
// matches pieces. All members are const after construction. Each thread has its own word cache.
#include "trainer/tokens/wordpiece.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "trainer/pieces/token_blanks.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/tokenizer_added.h"

namespace dtl::trainer {
namespace {

// Allows look-up by string_view without making a string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// A token of a word, and how many code points of the word it covers.
struct Piece {
  std::int32_t id = 0, characters = 0;
};

// Pieces of words that one thread has seen, for one tokenizer at a time. When full, it starts
// again; words repeat so often that this costs nothing.
struct WordCache {
  static constexpr std::size_t kMaxWords = 1 << 17;  // about 10 MB
  static constexpr std::size_t kLongestWord = 128;   // bytes; longer words rarely repeat
  struct Range {
    std::size_t begin = 0, end = 0;  // range of pieces
  };
  std::uint64_t owner = 0;
  TextMap<Range> words;
  std::vector<Piece> pieces;
  std::vector<Piece> of_long_word;
};

struct Found {
  Tokens tokens;
  bool with_offsets = false;
};

class WordPiece : public Subwords {
 public:
  explicit WordPiece(TokenizerRules rules)
      : rules_(std::move(rules)),
        verbatim_(rules_.added, false, {}),
        normalized_(rules_.added, true,
                    [this](std::string_view text) { return normalize(text, rules_.text); }) {
    // The threads' caches tell tokenizers apart by number. An address is not enough: a new
    // tokenizer may get that of a destroyed one, whose words a thread still caches.
    static std::atomic<std::uint64_t> count{0};
    serial_ = ++count;
    // insert_or_assign: the last of equal tokens wins (wordpiece_files.h).
    for (std::size_t at = 0; at < rules_.vocabulary.size(); ++at) {
      const std::string& token = rules_.vocabulary[at];
      if (token.empty()) continue;
      starts_.insert_or_assign(token, static_cast<std::int32_t>(at));
      if (token.starts_with(rules_.prefix)) {
        continuations_.insert_or_assign(token.substr(rules_.prefix.size()),
                                        static_cast<std::int32_t>(at));
      }
      longest_token_bytes_ = std::max(longest_token_bytes_, token.size());
    }
    size_ = static_cast<int>(rules_.vocabulary.size());
    for (const AddedToken& token : rules_.added) size_ = std::max(size_, token.id + 1);
    unknown_ = special(rules_.unknown);
    frame_.first = special(rules_.cls);
    frame_.separator = special(rules_.sep);
    frame_.padding = special(rules_.pad);
    frame_.separators = rules_.separators;
    frame_.second_type = rules_.types ? rules_.second_type : 0;
    frame_.truncate_left = rules_.truncate_left;
    frame_.max_length = rules_.model_max_length;
    if (const std::int32_t mask = id_of(rules_, rules_.mask); mask >= 0) frame_.mask = mask;
  }

  Tokens tokens_of(std::string_view text, bool with_offsets) const override {
    Found found;
    found.with_offsets = with_offsets;
    std::vector<Segment> segments;
    verbatim_.split(text, segments);
    AlignedText part;
    std::int32_t begin = 0;  // position in the segment, in code points; only for offsets
    for (const Segment& segment : segments) {
      const auto length =
          with_offsets ? static_cast<std::int32_t>(count_code_points(segment.text)) : 0;
      if (segment.id >= 0) {
        add_token(segment.id, {begin, begin + length}, segment.text, found);
      } else {
        normalize(segment.text, rules_.text, part, with_offsets ? begin : -1);
        add_normalized(part, found);
      }
      begin += length;
    }
    return std::move(found.tokens);
  }

  const Frame& frame() const override { return frame_; }
  int size() const override { return size_; }
  bool continues_word(std::int32_t id) const override {
    const auto at = static_cast<std::size_t>(id);
    return at < rules_.vocabulary.size() && rules_.vocabulary[at].starts_with(rules_.prefix);
  }
  void save(const std::string& folder) const override { write_rules(folder, rules_); }

 private:
  // Look in added tokens before the vocabulary.
  std::int32_t special(const std::string& name) const {
    for (const AddedToken& token : rules_.added) {
      if (token.content == name) return token.id;
    }
    const auto found = starts_.find(name);
    if (found == starts_.end()) {
      throw Error(Exit::kBadInput, "cannot make a tokenizer", "the vocabulary has no " + name);
    }
    return found->second;
  }

  // Greedy longest match first. A word with any unmatched part is unknown as a whole. Ends move by
  // bytes: a piece that ends inside a character is in no vocabulary.
  void match_word(std::string_view word, std::vector<Piece>& pieces) const {
    const std::size_t before = pieces.size();
    const auto length = static_cast<std::int32_t>(count_code_points(word));
    const auto give_up = [&] {
      pieces.resize(before);
      pieces.push_back({unknown_, length});
    };
    if (length > rules_.max_word_characters) return give_up();
    for (std::size_t start = 0; start < word.size();) {
      const TextMap<std::int32_t>& tokens = start == 0 ? starts_ : continuations_;
      // Limit to the longest token, so time is linear in the length of a word, not quadratic.
      std::size_t end = std::min(word.size(), start + longest_token_bytes_);
      auto found = tokens.end();
      for (; end > start; --end) {
        found = tokens.find(word.substr(start, end - start));
        if (found != tokens.end()) break;
      }
      if (found == tokens.end()) return give_up();
      const std::size_t count = count_code_points(word.substr(start, end - start));
      pieces.push_back({found->second, static_cast<std::int32_t>(count)});
      start = end;
    }
  }

  // Valid until the next call on this thread.
  std::span<const Piece> pieces_of(std::string_view word) const {
    thread_local WordCache cache;
    if (cache.owner != serial_ || cache.words.size() > WordCache::kMaxWords) {
      cache.words.clear();
      cache.pieces.clear();
      cache.owner = serial_;
    }
    if (word.size() > WordCache::kLongestWord) {
      cache.of_long_word.clear();
      match_word(word, cache.of_long_word);
      return cache.of_long_word;
    }
    auto found = cache.words.find(word);
    if (found == cache.words.end()) {
      const std::size_t begin = cache.pieces.size();
      match_word(word, cache.pieces);
      found = cache.words.emplace(word, WordCache::Range{begin, cache.pieces.size()}).first;
    }
    return std::span(cache.pieces)
        .subspan(found->second.begin, found->second.end - found->second.begin);
  }

  // `name`: its text, whose blanks trimmed offsets leave out.
  void add_token(std::int32_t id, Offset offset, std::string_view name, Found& to) const {
    to.tokens.ids.push_back(id);
    if (!to.with_offsets) return;
    if (!rules_.trims_offsets) return to.tokens.offsets.push_back(offset);
    const TokenBlanks blanks = blanks_of(code_points(name));
    const bool is_first = to.tokens.ids.size() == 1 || offset.begin == 0;
    to.tokens.offsets.push_back(trimmed(offset, blanks, is_first && rules_.keeps_blank));
    if (rules_.keeps_blank) to.tokens.first_offsets.push_back(trimmed(offset, blanks, true));
  }

  // Appends the tokens of the words of text[begin, end).
  void add_words(const AlignedText& text, std::size_t begin, std::size_t end, Found& to) const {
    for_each_word(text.characters, begin, end, [&](std::string_view word, std::size_t first) {
      for (const Piece& piece : pieces_of(word)) {
        const auto after = first + static_cast<std::size_t>(piece.characters);
        const Offset offset = to.with_offsets ? text.place(first, after) : Offset();
        const auto id = static_cast<std::size_t>(piece.id);
        const bool known = id < rules_.vocabulary.size();
        add_token(piece.id, offset,
                  known ? std::string_view(rules_.vocabulary[id]) : std::string_view(), to);
        first = after;
      }
    });
  }

  void add_normalized(const AlignedText& text, Found& to) const {
    // The common case: no copy of the text.
    if (normalized_.empty()) return add_words(text, 0, text.characters.size(), to);
    std::string bytes;
    for (const char32_t c : text.characters) append_utf8(bytes, c);
    std::vector<Segment> segments;
    normalized_.split(bytes, segments);
    std::size_t begin = 0;
    for (const Segment& segment : segments) {
      const std::size_t end = begin + count_code_points(segment.text);
      if (segment.id >= 0) {
        const Offset offset = to.with_offsets ? text.place(begin, end) : Offset();
        add_token(segment.id, offset, segment.text, to);
      } else {
        add_words(text, begin, end, to);
      }
      begin = end;
    }
  }

  TokenizerRules rules_;
  AddedTokens verbatim_, normalized_;
  TextMap<std::int32_t> starts_;         // complete tokens, for the start of a word
  TextMap<std::int32_t> continuations_;  // tokens with the prefix, stored without it
  std::size_t longest_token_bytes_ = 0;
  std::int32_t unknown_ = 0;
  Frame frame_;
  int size_ = 0;
  std::uint64_t serial_ = 0;  // tells the caches of threads apart
};

}  // namespace

std::unique_ptr<const Subwords> make_wordpiece(TokenizerRules rules) {
  return std::make_unique<const WordPiece>(std::move(rules));
}

}  // namespace dtl::trainer
