#pragma once
// Bpe: byte pair encoding. Splits a piece into characters or bytes and joins neighbours in the
// order in which a vocabulary learnt its merges. Pure; immutable after construction.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

// Two tokens that become one; ids of the vocabulary.
struct BpeMerge {
  std::int32_t left = 0, right = 0, merged = 0;
};

struct BpeRules {
  std::vector<std::string> vocabulary;  // by id; empty: a gap
  std::vector<BpeMerge> merges;         // in order of rank; of equal pairs the last counts
  bool byte_level = false;              // tokens are bytes, written as byte_level.h says
  // The token of a character that is in no token. Without one, the character is dropped.
  std::optional<std::int32_t> unknown;
  bool fuse_unknown = false;   // one token for several such characters in a row
  bool byte_fallback = false;  // first tries tokens such as <0xE2> for the bytes of the character
  bool ignore_merges = false;  // a piece that is a token is not split
};

class Bpe : public PieceModel {
 public:
  explicit Bpe(const BpeRules& rules);

  // As tokenizers: the lowest rank first, and of equal ones the leftmost.
  void add_tokens(std::string_view piece, std::vector<PieceToken>& tokens) const override;

 private:
  struct Merge {
    std::int32_t left = -1, right = -1;  // -1: an empty slot
    std::uint32_t rank = 0;
    std::int32_t merged = 0;
  };
  struct Symbol {
    std::int32_t id = 0;
    std::uint32_t length = 0;  // bytes; 0: merged into the symbol before it
    std::uint32_t previous = 0, next = 0;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  void learn(const std::vector<BpeMerge>& merges);
  const Merge* merge_of(std::int32_t left, std::int32_t right) const;
  void split_characters(std::string_view piece, std::vector<Symbol>& symbols) const;
  void merge_few(std::vector<Symbol>& symbols) const;
  void merge_many(std::vector<Symbol>& symbols) const;

  std::array<std::int32_t, 256> bytes_{};  // the token of each byte (byte_level), or -1
  std::unordered_map<char32_t, std::int32_t> characters_;  // tokens of one character
  std::array<std::int32_t, 256> fallbacks_{};              // <0x00> .. <0xFF>, or -1
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> whole_;
  std::vector<Merge> merges_;  // a hash table with linear probing; its size is a power of two
  bool byte_level_, fuse_unknown_, byte_fallback_;
  std::optional<std::int32_t> unknown_;
};

}  // namespace dtl::trainer
