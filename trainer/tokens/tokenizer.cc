#include "trainer/tokens/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "trainer/tokens/tokenizer_added.h"
#include "trainer/tokens/unicode.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {
namespace {

constexpr int kPairSpecials = 3;  // [CLS] A [SEP] B [SEP]

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

using Ids = std::vector<std::int32_t>;

struct Tokens {
  std::vector<std::int32_t> ids;  // without [CLS] and [SEP]
  std::vector<Offset> offsets;
  bool with_offsets = false;
};

// A token of a word, and how many of the word's code points it stands for.
struct Piece {
  std::int32_t id = 0, characters = 0;
};

// Pieces of words already seen by one thread. It serves one tokenizer at a time and starts anew
// when it is full; words repeat so much that this costs nothing.
struct WordCache {
  static constexpr std::size_t kMaxWords = 1 << 17;  // about 10 MB
  static constexpr std::size_t kLongestWord = 128;   // bytes; longer ones seldom come again
  struct Range {
    std::size_t begin = 0, end = 0;  // in pieces
  };
  std::uint64_t owner = 0;
  TextMap<Range> words;
  std::vector<Piece> pieces;
  std::vector<Piece> of_long_word;
};

// How many ids of each text stay when both together may have `budget`: the longer one is cut until
// they are equal, then both.
std::pair<std::size_t, std::size_t> shared_budget(std::size_t first, std::size_t second,
                                                  std::size_t budget) {
  if (first + second <= budget) return {first, second};
  const bool swapped = first > second;
  std::size_t shorter = swapped ? second : first;
  std::size_t longer = shorter;
  if (shorter <= budget) longer = std::max(shorter, budget - shorter);
  if (shorter + longer > budget) {
    shorter = budget / 2;
    longer = shorter + budget % 2;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(TokenizerRules from)
      : rules(std::move(from)),
        verbatim(rules.added, false, rules.text),
        normalized(rules.added, true, rules.text) {
    static std::atomic<std::uint64_t> count{0};
    serial = ++count;
    for (std::size_t at = 0; at < rules.vocabulary.size(); ++at) {
      const std::string& token = rules.vocabulary[at];
      if (token.empty()) continue;
      starts.insert_or_assign(token, static_cast<std::int32_t>(at));
      if (token.starts_with(rules.prefix)) {
        continuations.insert_or_assign(token.substr(rules.prefix.size()),
                                       static_cast<std::int32_t>(at));
      }
      longest_token_bytes = std::max(longest_token_bytes, token.size());
    }
    size = static_cast<int>(rules.vocabulary.size());
    for (const AddedToken& token : rules.added) size = std::max(size, token.id + 1);
    unknown = special(rules.unknown);
    cls = special(rules.cls);
    sep = special(rules.sep);
    pad = special(rules.pad);
  }

  std::int32_t special(const std::string& name) const {
    for (const AddedToken& token : rules.added) {
      if (token.content == name) return token.id;
    }
    const auto found = starts.find(name);
    if (found == starts.end()) {
      throw Error(Exit::kBadInput, "cannot make a tokenizer", "the vocabulary has no " + name);
    }
    return found->second;
  }

  // Greedy longest match first; a word with any part outside the vocabulary is unknown as a whole.
  void match_word(std::string_view word, std::vector<Piece>& pieces) const {
    const std::size_t before = pieces.size();
    const auto length = static_cast<std::int32_t>(count_code_points(word));
    const auto give_up = [&] {
      pieces.resize(before);
      pieces.push_back({unknown, length});
    };
    if (length > rules.max_word_characters) return give_up();
    for (std::size_t start = 0; start < word.size();) {
      const TextMap<std::int32_t>& tokens = start == 0 ? starts : continuations;
      std::size_t end = std::min(word.size(), start + longest_token_bytes);
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
    if (cache.owner != serial || cache.words.size() > WordCache::kMaxWords) {
      cache.words.clear();
      cache.pieces.clear();
      cache.owner = serial;
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

  // Appends the tokens of the words of text[begin, end).
  void add_words(const NormalizedText& text, std::size_t begin, std::size_t end, Tokens& to) const {
    for_each_word(text.characters, begin, end, [&](std::string_view word, std::size_t first) {
      for (const Piece& piece : pieces_of(word)) {
        to.ids.push_back(piece.id);
        const auto after = first + static_cast<std::size_t>(piece.characters);
        if (to.with_offsets) to.offsets.push_back(text.place(first, after));
        first = after;
      }
    });
  }

  void add_normalized(const NormalizedText& text, Tokens& to) const {
    if (normalized.empty()) return add_words(text, 0, text.characters.size(), to);
    std::string bytes;
    for (const char32_t c : text.characters) append_utf8(bytes, c);
    std::vector<Segment> segments;
    normalized.split(bytes, segments);
    std::size_t begin = 0;
    for (const Segment& segment : segments) {
      const std::size_t end = begin + count_code_points(segment.text);
      if (segment.id >= 0) {
        to.ids.push_back(segment.id);
        if (to.with_offsets) to.offsets.push_back(text.place(begin, end));
      } else {
        add_words(text, begin, end, to);
      }
      begin = end;
    }
  }

  Tokens tokens_of(std::string_view text, bool with_offsets) const {
    Tokens tokens;
    tokens.with_offsets = with_offsets;
    std::vector<Segment> segments;
    verbatim.split(text, segments);
    NormalizedText part;
    std::int32_t begin = 0;  // of the segment, in code points; counted for offsets only
    for (const Segment& segment : segments) {
      const auto length =
          with_offsets ? static_cast<std::int32_t>(count_code_points(segment.text)) : 0;
      if (segment.id >= 0) {
        tokens.ids.push_back(segment.id);
        if (with_offsets) tokens.offsets.push_back({begin, begin + length});
      } else {
        normalize(segment.text, rules.text, part, with_offsets ? begin : -1);
        add_normalized(part, tokens);
      }
      begin += length;
    }
    return tokens;
  }

  // The ids that stay of a text that is cut to `count`.
  std::span<const std::int32_t> kept(const Ids& ids, std::size_t count) const {
    const std::span<const std::int32_t> all(ids);
    return rules.truncate_left ? all.last(count) : all.first(count);
  }

  std::int8_t second_type() const { return rules.types ? 1 : 0; }

  Window window(const Ids& asked, const Tokens& given, std::ptrdiff_t begin,
                std::ptrdiff_t end) const {
    Window window;
    window.ids.reserve(asked.size() + static_cast<std::size_t>(end - begin + kPairSpecials));
    window.ids.push_back(cls);
    window.ids.insert(window.ids.end(), asked.begin(), asked.end());
    window.ids.push_back(sep);
    window.types.assign(window.ids.size(), 0);
    window.offsets.resize(window.ids.size());
    window.ids.insert(window.ids.end(), given.ids.begin() + begin, given.ids.begin() + end);
    window.offsets.insert(window.offsets.end(), given.offsets.begin() + begin,
                          given.offsets.begin() + end);
    window.ids.push_back(sep);
    window.types.resize(window.ids.size(), second_type());
    window.offsets.emplace_back();
    return window;
  }

  TokenizerRules rules;
  AddedTokens verbatim, normalized;
  TextMap<std::int32_t> starts;         // whole tokens, for the start of a word
  TextMap<std::int32_t> continuations;  // those with the prefix, without it
  std::size_t longest_token_bytes = 0;
  std::int32_t unknown = 0, cls = 0, sep = 0, pad = 0;
  int size = 0;
  std::uint64_t serial = 0;  // tells the caches of threads apart
};

Tokenizer Tokenizer::load(const std::string& folder) {
  Tokenizer tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]"}, true);
  tokenizer.impl_ = std::make_unique<Impl>(read_rules(folder));
  return tokenizer;
}

Tokenizer::Tokenizer(std::vector<std::string> vocabulary, bool lower_case, int model_max_length)
    : impl_(std::make_unique<Impl>(make_rules(std::move(vocabulary), lower_case))) {
  impl_->rules.model_max_length = model_max_length;
}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Encoding Tokenizer::encode(std::string_view text, int max_length) const {
  const Ids all = impl_->tokens_of(text, false).ids;
  const auto kept =
      impl_->kept(all, std::min(all.size(), static_cast<std::size_t>(std::max(0, max_length - 2))));
  Ids ids;
  ids.reserve(kept.size() + 2);
  ids.push_back(impl_->cls);
  ids.insert(ids.end(), kept.begin(), kept.end());
  ids.push_back(impl_->sep);
  const std::size_t length = ids.size();
  return {std::move(ids), std::vector<std::int8_t>(length, 0), kept.size() < all.size()};
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                int max_length) const {
  const Ids a = impl_->tokens_of(first, false).ids, b = impl_->tokens_of(second, false).ids;
  const auto [count_a, count_b] =
      shared_budget(a.size(), b.size(), static_cast<std::size_t>(std::max(0, max_length - 3)));
  const auto kept_a = impl_->kept(a, count_a), kept_b = impl_->kept(b, count_b);
  Encoding encoding;
  Ids& ids = encoding.ids;
  ids.reserve(count_a + count_b + 3);
  ids.push_back(impl_->cls);
  ids.insert(ids.end(), kept_a.begin(), kept_a.end());
  ids.push_back(impl_->sep);
  encoding.types.assign(ids.size(), 0);
  ids.insert(ids.end(), kept_b.begin(), kept_b.end());
  ids.push_back(impl_->sep);
  encoding.types.resize(ids.size(), impl_->second_type());
  encoding.cut = count_a < a.size() || count_b < b.size();
  return encoding;
}

std::vector<Window> Tokenizer::encode_question(std::string_view question, std::string_view context,
                                               int max_length, int stride) const {
  question.remove_prefix(leading_blanks(question));
  const Ids asked = impl_->tokens_of(question, false).ids;
  const Tokens given = impl_->tokens_of(context, true);
  const auto length = static_cast<std::ptrdiff_t>(given.ids.size());
  const auto room =
      std::ptrdiff_t{max_length} - kPairSpecials - static_cast<std::ptrdiff_t>(asked.size());
  if (length > room && room <= std::max(0, stride)) {
    throw Error(Exit::kBadInput, "cannot cut the context of a question into windows",
                fmt::format("{} tokens, of which the question takes {}, leave {} for the context, "
                            "and windows share {}",
                            max_length, asked.size(), std::max<std::ptrdiff_t>(0, room), stride),
                "a greater --max_seq_length or a smaller --doc_stride");
  }
  std::vector<Window> windows;
  // The first window is what would be kept of a text that is cut; the others go on from there.
  for (std::ptrdiff_t done = 0;; done += room - stride) {
    const std::ptrdiff_t until = std::min(length, done + room);
    windows.push_back(impl_->rules.truncate_left
                          ? impl_->window(asked, given, length - until, length - done)
                          : impl_->window(asked, given, done, until));
    if (until == length) return windows;
  }
}

int Tokenizer::vocabulary_size() const {
  return impl_->size;
}

std::optional<std::int64_t> Tokenizer::max_length() const {
  return impl_->rules.model_max_length;
}

int Tokenizer::padding_id() const {
  return impl_->pad;
}

void Tokenizer::save(const std::string& folder) const {
  write_rules(folder, impl_->rules);
}

}  // namespace dtl::trainer
