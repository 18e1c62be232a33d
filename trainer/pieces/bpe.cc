// Words are short, so most merges are found by looking at all pairs. Long words use a queue, which
// keeps the time for 100 KiB without a blank below a second.
#include "trainer/pieces/bpe.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <queue>
#include <tuple>
#include <utility>

#include "trainer/pieces/byte_level.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kFewSymbols = 24;  // up to here, looking at all pairs is faster
constexpr std::uint32_t kNoSymbol = UINT32_MAX;

std::size_t hash_of(std::int32_t left, std::int32_t right) {
  const std::uint64_t pair = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
                             static_cast<std::uint32_t>(right);
  const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15ULL;  // Fibonacci hashing
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

std::string fallback_name(int byte) {
  std::array<char, 8> name;
  std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
  return name.data();
}

}  // namespace

Bpe::Bpe(const BpeRules& rules)
    : byte_level_(rules.byte_level),
      fuse_unknown_(rules.fuse_unknown),
      byte_fallback_(rules.byte_fallback),
      unknown_(rules.unknown) {
  bytes_.fill(-1);
  fallbacks_.fill(-1);
  std::unordered_map<std::string_view, std::size_t> names;
  std::array<std::string, 256> fallbacks;
  for (int byte = 0; byte < 256 && byte_fallback_; ++byte) {
    fallbacks[static_cast<std::size_t>(byte)] = fallback_name(byte);
    names[fallbacks[static_cast<std::size_t>(byte)]] = static_cast<std::size_t>(byte);
  }
  for (std::size_t at = 0; at < rules.vocabulary.size(); ++at) {
    const std::string& token = rules.vocabulary[at];
    const auto id = static_cast<std::int32_t>(at);
    if (token.empty()) continue;
    if (const auto name = names.find(token); name != names.end()) fallbacks_[name->second] = id;
    const std::optional<std::string> bytes = byte_level_ ? bytes_of_token(token) : token;
    if (!bytes) continue;
    // Kept only for this case: a second table of all tokens costs megabytes.
    if (rules.ignore_merges) whole_.insert_or_assign(*bytes, id);
    if (byte_level_ && bytes->size() == 1) bytes_[static_cast<unsigned char>(bytes->front())] = id;
    std::size_t end = 0;
    const char32_t first = next_code_point(token, end);
    if (end == token.size()) characters_.insert_or_assign(first, id);
  }
  learn(rules.merges);
}

void Bpe::learn(const std::vector<BpeMerge>& merges) {
  // At most half full, so that a search soon meets an empty slot, which ends it.
  merges_.resize(std::bit_ceil(merges.size() * 2 + 2));
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const BpeMerge& merge = merges[rank];
    std::size_t slot = hash_of(merge.left, merge.right) & (merges_.size() - 1);
    const auto taken = [&](const Merge& other) {
      return other.left >= 0 && (other.left != merge.left || other.right != merge.right);
    };
    // A pair that comes again takes its own slot: the last one counts, as in tokenizers.
    while (taken(merges_[slot])) slot = (slot + 1) & (merges_.size() - 1);
    merges_[slot] = {merge.left, merge.right, static_cast<std::uint32_t>(rank), merge.merged};
  }
}

const Bpe::Merge* Bpe::merge_of(std::int32_t left, std::int32_t right) const {
  for (std::size_t slot = hash_of(left, right);; ++slot) {
    const Merge& merge = merges_[slot & (merges_.size() - 1)];
    if (merge.left == left && merge.right == right) return &merge;
    if (merge.left < 0) return nullptr;
  }
}

void Bpe::split_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
  std::int64_t unknown_bytes = 0;  // of unknown characters without a token yet
  const auto add = [&](std::int32_t id, std::size_t length) {
    symbols.push_back({id, static_cast<std::uint32_t>(length)});
  };
  const auto add_unknown = [&] {
    if (unknown_bytes > 0) add(*unknown_, static_cast<std::size_t>(unknown_bytes));
    unknown_bytes = 0;
  };
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t begin = at;
    const char32_t c = byte_level_ ? 0 : next_code_point(piece, at);
    if (byte_level_) ++at;
    const std::string_view bytes = piece.substr(begin, at - begin);
    std::int32_t id = -1;
    if (byte_level_) {
      id = bytes_[static_cast<unsigned char>(bytes.front())];
    } else if (const auto found = characters_.find(c); found != characters_.end()) {
      id = found->second;
    }
    if (id >= 0) {
      add_unknown();
      add(id, bytes.size());
      continue;
    }
    const auto has_fallback = [&](char byte) {
      return fallbacks_[static_cast<unsigned char>(byte)] >= 0;
    };
    if (byte_fallback_ && std::all_of(bytes.begin(), bytes.end(), has_fallback)) {
      // Unknown characters before it get their token later, as in tokenizers.
      for (const char byte : bytes) add(fallbacks_[static_cast<unsigned char>(byte)], 1);
    } else if (unknown_) {
      if (!fuse_unknown_) add_unknown();
      unknown_bytes += static_cast<std::int64_t>(bytes.size());
    }
  }
  add_unknown();
}

// Removes merged symbols at once.
void Bpe::merge_few(std::vector<Symbol>& symbols) const {
  while (symbols.size() > 1) {
    const Merge* best = nullptr;
    std::size_t place = 0;
    for (std::size_t at = 0; at + 1 < symbols.size(); ++at) {
      const Merge* merge = merge_of(symbols[at].id, symbols[at + 1].id);
      // Not "<=": of equal ranks the leftmost pair wins.
      if (merge != nullptr && (best == nullptr || merge->rank < best->rank)) {
        best = merge;
        place = at;
      }
    }
    if (best == nullptr) return;
    symbols[place].id = best->merged;
    symbols[place].length += symbols[place + 1].length;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

// Links symbols to their neighbours, and leaves length 0 in merged ones.
void Bpe::merge_many(std::vector<Symbol>& symbols) const {
  using Entry = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>;  // rank, place, merged
  // Of equal ranks the lower place comes first, as in merge_few(). Entries are never removed when
  // their symbols change. They are checked when they come out instead.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto offer = [&](std::uint32_t left) {
    const std::uint32_t right = symbols[left].next;
    if (right == kNoSymbol) return;
    const Merge* merge = merge_of(symbols[left].id, symbols[right].id);
    if (merge != nullptr) queue.emplace(merge->rank, left, merge->merged);
  };
  const auto count = static_cast<std::uint32_t>(symbols.size());
  for (std::uint32_t at = 0; at < count; ++at) {
    symbols[at].previous = at == 0 ? kNoSymbol : at - 1;
    symbols[at].next = at + 1 == count ? kNoSymbol : at + 1;
  }
  for (std::uint32_t at = 0; at < count; ++at) offer(at);
  while (!queue.empty()) {
    const auto [rank, left, merged] = queue.top();
    queue.pop();
    const std::uint32_t right = symbols[left].next;
    if (symbols[left].length == 0 || right == kNoSymbol) continue;
    const Merge* merge = merge_of(symbols[left].id, symbols[right].id);
    // One of the two was merged after this entry was queued.
    if (merge == nullptr || merge->merged != merged) continue;
    symbols[left].id = merged;
    symbols[left].length += symbols[right].length;
    symbols[left].next = symbols[right].next;
    symbols[right].length = 0;
    if (symbols[left].next != kNoSymbol) symbols[symbols[left].next].previous = left;
    // Only these two pairs are new.
    if (symbols[left].previous != kNoSymbol) offer(symbols[left].previous);
    offer(left);
  }
}

void Bpe::add_tokens(std::string_view piece, std::vector<PieceToken>& tokens) const {
  if (const auto whole = whole_.find(piece); whole != whole_.end()) {
    tokens.push_back({whole->second, 0, static_cast<std::uint32_t>(piece.size())});
    return;
  }
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  split_characters(piece, symbols);
  if (symbols.size() <= kFewSymbols) {
    merge_few(symbols);
  } else {
    merge_many(symbols);
  }
  std::uint32_t begin = 0;
  for (const Symbol& symbol : symbols) {
    if (symbol.length == 0) continue;
    tokens.push_back({symbol.id, begin, begin + symbol.length});
    begin += symbol.length;
  }
}

}  // namespace dtl::trainer
