#include "trainer/tokenizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "trainer/unicode.h"
#include "trainer/wordpiece_files.h"

namespace dtl::trainer {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

using Ids = std::vector<std::int32_t>;

// A piece of text between added tokens, or (id >= 0) such a token.
struct Segment {
  std::string_view text;
  std::int32_t id = -1;
};

// Finds added tokens verbatim: the leftmost, and of several starting there the longest.
class AddedTokens {
 public:
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const TextRules& rules) {
    for (AddedToken token : tokens) {
      if (token.normalized != normalized) continue;
      if (normalized) {
        std::string content;
        for (const char32_t c : normalize(token.content, rules)) append_utf8(content, c);
        token.content = content;
      }
      if (token.content.empty()) continue;
      starts_[static_cast<unsigned char>(token.content[0])] = true;
      tokens_.push_back(std::move(token));
    }
  }

  bool empty() const { return tokens_.empty(); }

  void split(std::string_view text, std::vector<Segment>& segments) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const AddedToken* token = match(text, at);
      if (token == nullptr) {
        ++at;
        continue;
      }
      std::size_t start = at, end = at + token->content.size();
      at = end;
      if (token->single_word && touches_word(text, start, end)) continue;
      if (token->lstrip) start = skip_blanks_backward(text, done, start);
      if (token->rstrip) end = skip_blanks(text, end);
      if (start > done) segments.push_back({text.substr(done, start - done)});
      segments.push_back({text.substr(start, end - start), token->id});
      done = at = end;
    }
    if (done < text.size()) segments.push_back({text.substr(done)});
  }

 private:
  const AddedToken* match(std::string_view text, std::size_t at) const {
    if (!starts_[static_cast<unsigned char>(text[at])]) return nullptr;
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : tokens_) {
      if (longest != nullptr && token.content.size() <= longest->content.size()) continue;
      if (text.substr(at).starts_with(token.content)) longest = &token;
    }
    return longest;
  }

  static bool touches_word(std::string_view text, std::size_t start, std::size_t end) {
    std::size_t before = start;
    while (before > 0 && (static_cast<unsigned char>(text[--before]) & 0xC0) == 0x80) {
    }
    std::size_t after = end;
    return (start > 0 && is_word_character(next_code_point(text, before))) ||
           (end < text.size() && is_word_character(next_code_point(text, after)));
  }

  static std::size_t skip_blanks(std::string_view text, std::size_t at) {
    for (std::size_t next = at; at < text.size(); at = next) {
      if (!is_white_space(next_code_point(text, next))) break;
    }
    return at;
  }

  static std::size_t skip_blanks_backward(std::string_view text, std::size_t low, std::size_t at) {
    std::size_t blanks = low;  // where the last run of blanks before `at` begins
    for (std::size_t next = low; next < at;) {
      if (!is_white_space(next_code_point(text, next))) blanks = next;
    }
    return blanks;
  }

  std::vector<AddedToken> tokens_;
  std::array<bool, 256> starts_{};
};

// Ids of words already seen by one thread. It serves one tokenizer at a time and starts anew when
// it is full; words repeat so much that this costs nothing.
struct WordCache {
  static constexpr std::size_t kMaxWords = 1 << 17;  // about 10 MB
  std::uint64_t owner = 0;
  TextMap<Ids> words;
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
  void match_word(std::string_view word, Ids& ids) const {
    const auto unmatched = static_cast<std::ptrdiff_t>(ids.size());
    if (count_code_points(word) > static_cast<std::size_t>(rules.max_word_characters)) {
      ids.push_back(unknown);
      return;
    }
    for (std::size_t start = 0; start < word.size();) {
      const TextMap<std::int32_t>& tokens = start == 0 ? starts : continuations;
      std::size_t end = std::min(word.size(), start + longest_token_bytes);
      auto found = tokens.end();
      for (; end > start; --end) {
        found = tokens.find(word.substr(start, end - start));
        if (found != tokens.end()) break;
      }
      if (found == tokens.end()) {
        ids.resize(static_cast<std::size_t>(unmatched));
        ids.push_back(unknown);
        return;
      }
      ids.push_back(found->second);
      start = end;
    }
  }

  void add_words(std::u32string_view text, Ids& ids) const {
    thread_local WordCache cache;
    if (cache.owner != serial || cache.words.size() > WordCache::kMaxWords) {
      cache.words.clear();
      cache.owner = serial;
    }
    std::vector<std::string> words;
    split_words(text, words);
    for (std::string& word : words) {
      auto found = cache.words.find(word);
      if (found == cache.words.end()) {
        Ids parts;
        match_word(word, parts);
        found = cache.words.emplace(std::move(word), std::move(parts)).first;
      }
      ids.insert(ids.end(), found->second.begin(), found->second.end());
    }
  }

  void add_normalized(std::u32string_view text, Ids& ids) const {
    if (normalized.empty()) return add_words(text, ids);
    std::string bytes;
    for (const char32_t c : text) append_utf8(bytes, c);
    std::vector<Segment> segments;
    normalized.split(bytes, segments);
    for (const Segment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
        continue;
      }
      std::u32string part;
      for (std::size_t at = 0; at < segment.text.size();) {
        part.push_back(next_code_point(segment.text, at));
      }
      add_words(part, ids);
    }
  }

  Ids ids_of(std::string_view text) const {
    Ids ids;
    std::vector<Segment> segments;
    verbatim.split(text, segments);
    for (const Segment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
      } else {
        add_normalized(normalize(segment.text, rules.text), ids);
      }
    }
    return ids;
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
  Ids ids = impl_->ids_of(text);
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(std::max(0, max_length - 2))));
  ids.insert(ids.begin(), impl_->cls);
  ids.push_back(impl_->sep);
  const std::size_t length = ids.size();
  return {std::move(ids), std::vector<std::int8_t>(length, 0)};
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                int max_length) const {
  const Ids a = impl_->ids_of(first), b = impl_->ids_of(second);
  const auto [keep_a, keep_b] =
      shared_budget(a.size(), b.size(), static_cast<std::size_t>(std::max(0, max_length - 3)));
  Encoding encoding;
  Ids& ids = encoding.ids;
  ids.reserve(keep_a + keep_b + 3);
  ids.push_back(impl_->cls);
  ids.insert(ids.end(), a.begin(), a.begin() + static_cast<std::ptrdiff_t>(keep_a));
  ids.push_back(impl_->sep);
  encoding.types.assign(ids.size(), 0);
  ids.insert(ids.end(), b.begin(), b.begin() + static_cast<std::ptrdiff_t>(keep_b));
  ids.push_back(impl_->sep);
  encoding.types.resize(ids.size(), 1);
  return encoding;
}

int Tokenizer::vocabulary_size() const {
  return impl_->size;
}

int Tokenizer::padding_id() const {
  return impl_->pad;
}

void Tokenizer::save(const std::string& folder) const {
  write_rules(folder, impl_->rules);
}

}  // namespace dtl::trainer
