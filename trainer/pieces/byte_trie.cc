// Places each node's children into free units, in blocks of 256: base XOR byte stays in the block
// of base. Only the last few blocks are searched, so the time is linear in the number of nodes
// whatever the keys are.
#include "trainer/pieces/byte_trie.h"

#include <algorithm>
#include <numeric>

namespace dtl::trainer {
namespace {

constexpr std::uint32_t kBlock = 256;      // units: one per byte
constexpr std::uint32_t kOpenBlocks = 16;  // older blocks are nearly full
constexpr std::uint32_t kMaxTries = 256;   // starts to try for a node's children before a new block

}  // namespace

// Free units of open blocks form a ring. links_[0] is its head, because unit 0 is the root.
class ByteTrie::Builder {
 public:
  Builder(const std::vector<std::string>& keys, std::vector<Unit>& units)
      : keys_(keys), units_(units), order_(keys.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int order = keys[a].compare(keys[b]);
      return order != 0 ? order < 0 : a < b;
    });
    links_.push_back({0, 0});
    add_block();
  }

  void build() {
    // A stack instead of recursion: keys may be long.
    std::vector<Part> open = {{0, order_.size(), 0, 0}};
    while (!open.empty()) {
      Part part = open.back();
      open.pop_back();
      // Equal keys are adjacent, in order.
      while (part.begin < part.end && key(part.begin).size() == part.depth) {
        units_[part.node].value = static_cast<std::int32_t>(order_[part.begin++]);
      }
      if (part.begin < part.end) add_children(part, open);
    }
  }

 private:
  // The keys order_[begin, end), which share their first `depth` bytes and lead to `node`.
  struct Part {
    std::size_t begin, end, depth;
    std::uint32_t node;
  };
  struct Link {
    std::uint32_t before, after;
  };

  const std::string& key(std::size_t at) const { return keys_[order_[at]]; }

  void add_children(const Part& part, std::vector<Part>& open) {
    labels_.clear();
    starts_.clear();
    for (std::size_t at = part.begin; at < part.end; ++at) {
      const auto label = static_cast<unsigned char>(key(at)[part.depth]);
      if (!labels_.empty() && labels_.back() == label) continue;
      labels_.push_back(label);
      starts_.push_back(at);
    }
    starts_.push_back(part.end);
    const std::uint32_t base = find_base();
    units_[part.node].base = base;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const std::uint32_t child = base ^ labels_[i];
      unlink(child);
      units_[child].check = part.node;
      open.push_back({starts_[i], starts_[i + 1], part.depth + 1, child});
    }
  }

  std::uint32_t find_base() {
    std::uint32_t tries = 0;
    for (std::uint32_t at = links_[0].after; at != 0 && tries < kMaxTries; ++tries) {
      const std::uint32_t base = at ^ labels_[0];
      const auto fits = [&](unsigned char label) { return is_free(base ^ label); };
      if (std::all_of(labels_.begin(), labels_.end(), fits)) return base;
      at = links_[at].after;
    }
    add_block();
    return static_cast<std::uint32_t>(units_.size()) - kBlock;
  }

  // A unit out of the ring is its own neighbour.
  bool is_free(std::uint32_t unit) const { return unit != 0 && links_[unit].after != unit; }

  void unlink(std::uint32_t unit) {
    const Link link = links_[unit];
    links_[link.before].after = link.after;
    links_[link.after].before = link.before;
    links_[unit] = {unit, unit};
  }

  void add_block() {
    const auto begin = static_cast<std::uint32_t>(units_.size());
    units_.resize(begin + kBlock);
    links_.resize(begin + kBlock);
    for (std::uint32_t unit = std::max(begin, 1U); unit < begin + kBlock; ++unit) {
      links_[unit] = {links_[0].before, 0};
      links_[links_[0].before].after = unit;
      links_[0].before = unit;
    }
    if (begin < kOpenBlocks * kBlock) return;
    const std::uint32_t closed = begin - kOpenBlocks * kBlock;
    for (std::uint32_t unit = closed; unit < closed + kBlock; ++unit) {
      if (is_free(unit)) unlink(unit);
    }
  }

  const std::vector<std::string>& keys_;
  std::vector<Unit>& units_;
  std::vector<std::uint32_t> order_;
  std::vector<Link> links_;
  std::vector<unsigned char> labels_;  // of the children that are being placed
  std::vector<std::size_t> starts_;    // of their keys, and the end
};

ByteTrie::ByteTrie(const std::vector<std::string>& keys) {
  Builder(keys, units_).build();
  units_.shrink_to_fit();
}

std::int32_t ByteTrie::find(std::string_view key) const {
  std::int32_t value = -1;
  for_each_prefix(key, [&](std::size_t length, std::int32_t found) {
    if (length == key.size()) value = found;
  });
  return value;
}

}  // namespace dtl::trainer
