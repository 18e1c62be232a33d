#pragma once
// TokenIds: finds the id of a token by its text, faster for large vocabularies than a standard map.
// Pure; immutable after construction.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

class TokenIds {
 public:
  // By id; empty: a gap. Of equal tokens the last counts. Keeps a reference: the vocabulary must
  // outlive it and not change.
  explicit TokenIds(const std::vector<std::string>& vocabulary);

  std::int32_t of(std::string_view token) const;      // -1: not in the vocabulary
  std::size_t distinct() const { return distinct_; }  // tokens

 private:
  // Its hash says mostly whether a slot has another token, without a look at the token.
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;  // an empty slot
  };
  std::size_t slot_of(std::string_view token, std::size_t hash) const;

  const std::vector<std::string>& vocabulary_;
  std::vector<Slot> slots_;  // linear probing; the size is a power of two
  std::size_t distinct_ = 0;
};

}  // namespace dtl::trainer
