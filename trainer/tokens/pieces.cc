// Runs the steps: finds verbatim tokens, normalises, finds normalised tokens, splits into pieces
// and matches them. All members are const after construction. Each thread has its own cache of
// pieces.
#include "trainer/tokens/pieces.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "trainer/pieces/byte_level.h"
#include "trainer/pieces/token_blanks.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/tokenizer_added.h"

namespace dtl::trainer {
namespace {

constexpr char32_t kSeenBlank = 0x120;        // how byte-level vocabularies write a blank
constexpr char32_t kMetaspaceBlank = 0x2581;  // how SentencePiece's vocabularies write a blank

struct PieceHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

// Tokens of pieces that one thread has seen, for one tokenizer at a time. When full, it starts
// again.
struct PieceCache {
  static constexpr std::size_t kMaxPieces = 1 << 17;  // about 15 MB
  static constexpr std::size_t kLongestPiece = 128;   // bytes; longer ones rarely repeat
  struct Place {
    std::uint32_t begin = 0, end = 0;  // in tokens
  };
  std::uint64_t owner = 0;
  std::unordered_map<std::string, Place, PieceHash, std::equal_to<>> places;
  std::vector<PieceToken> tokens;
  std::vector<PieceToken> of_long_piece;
};

// The text with the position of each character, from `place` on.
AlignedText aligned(std::string_view text, std::int32_t place) {
  AlignedText result;
  result.characters.reserve(text.size());
  result.places.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++place) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      result.put(byte, place);
      ++at;
    } else {
      result.put(next_code_point(text, at), place);
    }
  }
  return result;
}

std::string utf8_of(std::u32string_view characters) {
  std::string bytes;
  for (const char32_t c : characters) append_utf8(bytes, c);
  return bytes;
}

class Pieces : public Subwords {
 public:
  explicit Pieces(PieceRules rules)
      : rules_(std::move(rules)),
        verbatim_(rules_.common.added, false, {}),
        normalized_(rules_.common.added, true, [this](std::string_view text) {
          AlignedText changed = aligned(text, 0);
          normalize(changed);
          return changed.characters;
        }) {
    // The threads' caches tell tokenizers apart by number, as in wordpiece.cc.
    static std::atomic<std::uint64_t> count{0};
    serial_ = ++count;
    const TokenizerRules& common = rules_.common;
    size_ = static_cast<int>(common.vocabulary.size());
    for (const AddedToken& token : common.added) size_ = std::max(size_, token.id + 1);
    frame_.first = special(common.cls);
    frame_.separator = special(common.sep);
    frame_.padding = special(common.pad);
    frame_.separators = common.separators;
    frame_.second_type = common.types ? common.second_type : 0;
    frame_.truncate_left = common.truncate_left;
    frame_.max_length = common.model_max_length;
    if (const std::int32_t mask = id_of(common, common.mask); mask >= 0) frame_.mask = mask;
    learn_tokens();
  }

  Tokens tokens_of(std::string_view text, bool with_offsets) const override {
    return encode(text, with_offsets, rules_.pre_tokenizers);
  }
  Tokens tokens_of_word(std::string_view word) const override {
    return encode(word, false, rules_.of_words.empty() ? rules_.pre_tokenizers : rules_.of_words);
  }
  const Frame& frame() const override { return frame_; }
  int size() const override { return size_; }
  bool continues_word(std::int32_t id) const override {
    const auto at = static_cast<std::size_t>(id);
    return at < continues_.size() && continues_[at];
  }
  void save(const std::string& folder) const override { write_piece_rules(folder, rules_); }

 private:
  struct Found {
    Tokens tokens;
    bool with_offsets = false;
    const PreTokenizers& pre_tokenizers;
  };

  std::int32_t special(const std::string& name) const {
    const std::int32_t id = id_of(rules_.common, name);
    if (id >= 0) return id;
    throw Error(Exit::kBadInput, "cannot make a tokenizer", "the vocabulary has no " + name);
  }

  // Words begin with a blank, and at marks, which byte-level expressions set apart.
  bool continues(const std::string& token) const {
    if (!rules_.byte_level) {
      std::size_t at = 0;
      return !token.empty() && next_code_point(token, at) != kMetaspaceBlank;
    }
    const std::optional<std::string> bytes = bytes_of_token(token);
    if (!bytes || bytes->empty()) return false;
    std::size_t at = 0;
    const char32_t first = next_code_point(*bytes, at);
    if (first == 0xFFFD) return true;  // a part of a character
    const CharacterClass kind = character_class(first);
    return kind == CharacterClass::kLetter || kind == CharacterClass::kNumber;
  }

  void learn_tokens() {
    for (const std::string& token : rules_.common.vocabulary) {
      continues_.push_back(continues(token));
      if (rules_.common.trims_offsets) blanks_.push_back(blanks_of(code_points(token)));
    }
    for (const AddedToken& token : rules_.common.added) {
      const auto id = static_cast<std::size_t>(token.id);
      if (id < continues_.size()) continues_[id] = false;
    }
  }

  void normalize(AlignedText& text) const {
    for (const auto& step : rules_.normalizers) step->normalize(text);
  }

  Tokens encode(std::string_view text, bool with_offsets, const PreTokenizers& steps) const {
    Found found{{}, with_offsets, steps};
    std::vector<Segment> segments;
    if (verbatim_.empty()) {
      if (!text.empty()) segments.push_back({text});
    } else {
      verbatim_.split(text, segments);
    }
    std::int32_t begin = 0;  // of the segment, in code points
    for (const Segment& segment : segments) {
      AlignedText part = aligned(segment.text, begin);
      begin += static_cast<std::int32_t>(part.characters.size());
      if (segment.id >= 0) {
        add_whole(segment.id, part, 0, part.characters.size(), found);
      } else {
        normalize(part);
        add_normalized(std::move(part), found);
      }
    }
    return std::move(found.tokens);
  }

  // An added token. Its blanks are those of the text that it was found in, which lstrip extends.
  void add_whole(std::int32_t id, const AlignedText& text, std::size_t begin, std::size_t end,
                 Found& to) const {
    const auto characters = std::u32string_view(text.characters).substr(begin, end - begin);
    add_token(id, text.place(begin, end), blanks_of(characters), to);
  }

  void add_token(std::int32_t id, Offset offset, TokenBlanks blanks, Found& to) const {
    to.tokens.ids.push_back(id);
    if (!to.with_offsets) return;
    if (!rules_.common.trims_offsets) return to.tokens.offsets.push_back(offset);
    const bool is_first = to.tokens.ids.size() == 1 || offset.begin == 0;
    to.tokens.offsets.push_back(trimmed(offset, blanks, is_first && rules_.common.keeps_blank));
    if (rules_.common.keeps_blank) to.tokens.first_offsets.push_back(trimmed(offset, blanks, true));
  }

  void add_normalized(AlignedText text, Found& to) const {
    if (text.characters.empty()) return;
    if (normalized_.empty()) return add_pieces(std::move(text), to);
    const std::string bytes = utf8_of(text.characters);
    std::vector<Segment> segments;
    normalized_.split(bytes, segments);
    if (segments.size() == 1 && segments[0].id < 0) return add_pieces(std::move(text), to);
    std::size_t begin = 0;
    for (const Segment& segment : segments) {
      const std::size_t end = begin + count_code_points(segment.text);
      if (segment.id >= 0) {
        add_whole(segment.id, text, begin, end, to);
      } else {
        AlignedText part;
        for (std::size_t at = begin; at < end; ++at) part.put(text.characters[at], text.places[at]);
        add_pieces(std::move(part), to);
      }
      begin = end;
    }
  }

  void add_pieces(AlignedText text, Found& to) const {
    SplitText split;
    split.pieces.push_back({0, text.characters.size()});
    split.text = std::move(text);
    for (const auto& step : to.pre_tokenizers) step->pre_tokenize(split);
    std::string bytes;
    for (const PieceRange& piece : split.pieces) {
      bytes.clear();
      for (std::size_t at = piece.begin; at < piece.end; ++at) {
        append_utf8(bytes, split.text.characters[at]);
      }
      add_piece(split.text, piece, bytes, to);
    }
  }

  void add_piece(const AlignedText& text, const PieceRange& piece, const std::string& bytes,
                 Found& to) const {
    const std::span<const PieceToken> tokens = tokens_of_piece(bytes);
    if (!to.with_offsets) {
      for (const PieceToken& token : tokens) to.tokens.ids.push_back(token.id);
      return;
    }
    std::vector<std::size_t> character;  // of each byte
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
      const char32_t c = text.characters[at];
      character.insert(character.end(), c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, at);
    }
    for (const PieceToken& token : tokens) {
      const auto id = static_cast<std::size_t>(token.id);
      const TokenBlanks blanks = id < blanks_.size() ? blanks_[id] : TokenBlanks();
      const Offset offset = text.place(character[token.begin], character[token.end - 1] + 1);
      add_token(token.id, offset, blanks, to);
    }
  }

  // Valid until the next call on this thread.
  std::span<const PieceToken> tokens_of_piece(const std::string& piece) const {
    thread_local PieceCache cache;
    if (cache.owner != serial_ || cache.places.size() > PieceCache::kMaxPieces) {
      cache.places.clear();
      cache.tokens.clear();
      cache.owner = serial_;
    }
    if (piece.size() > PieceCache::kLongestPiece) {
      cache.of_long_piece.clear();
      rules_.model->add_tokens(piece, cache.of_long_piece);
      return cache.of_long_piece;
    }
    auto found = cache.places.find(std::string_view(piece));
    if (found == cache.places.end()) {
      const auto begin = static_cast<std::uint32_t>(cache.tokens.size());
      rules_.model->add_tokens(piece, cache.tokens);
      const auto end = static_cast<std::uint32_t>(cache.tokens.size());
      found = cache.places.emplace(piece, PieceCache::Place{begin, end}).first;
    }
    return std::span(cache.tokens)
        .subspan(found->second.begin, found->second.end - found->second.begin);
  }

  PieceRules rules_;
  AddedTokens verbatim_, normalized_;
  Frame frame_;
  int size_ = 0;
  std::vector<bool> continues_;      // by id of the vocabulary
  std::vector<TokenBlanks> blanks_;  // .. if offsets are trimmed
  std::uint64_t serial_ = 0;
};

}  // namespace

std::unique_ptr<const Subwords> make_pieces(PieceRules rules) {
  return std::make_unique<const Pieces>(std::move(rules));
}

}  // namespace dtl::trainer
