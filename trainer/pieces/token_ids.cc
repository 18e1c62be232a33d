// A hash table without a node for each token. At most half of its slots are taken.
#include "trainer/pieces/token_ids.h"

#include <bit>
#include <functional>

namespace dtl::trainer {
namespace {

std::size_t hash_of(std::string_view token) {
  return std::hash<std::string_view>{}(token);
}

// The place comes from the low bits.
std::uint32_t high_bits(std::size_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

TokenIds::TokenIds(const std::vector<std::string>& vocabulary)
    : vocabulary_(vocabulary), slots_(std::bit_ceil(2 * vocabulary.size() + 2)) {
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary[id].empty()) continue;
    const std::size_t hash = hash_of(vocabulary[id]);
    Slot& slot = slots_[slot_of(vocabulary[id], hash)];
    if (slot.id < 0) ++distinct_;
    slot = {high_bits(hash), static_cast<std::int32_t>(id)};
  }
}

// The token's slot, or the empty one where it would be.
std::size_t TokenIds::slot_of(std::string_view token, std::size_t hash) const {
  for (std::size_t at = hash;; ++at) {
    const Slot& slot = slots_[at & (slots_.size() - 1)];
    const bool same = slot.id >= 0 && slot.hash == high_bits(hash) &&
                      vocabulary_[static_cast<std::size_t>(slot.id)] == token;
    if (slot.id < 0 || same) return at & (slots_.size() - 1);
  }
}

std::int32_t TokenIds::of(std::string_view token) const {
  return slots_[slot_of(token, hash_of(token))].id;
}

}  // namespace dtl::trainer
