#pragma once
// ByteTrie: finds all keys that begin a text, one array access per byte. A double array (Aoe 1989):
// the child of a node for a byte is at base XOR byte, if its check names the node. Immutable after
// construction, so several threads may use it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

class ByteTrie {
 public:
  // The value of a key is its index; of equal keys, the last one's.
  explicit ByteTrie(const std::vector<std::string>& keys);

  // Calls take(length, value) for each key that `text` begins with, the shortest first. Never for
  // the empty key.
  template <typename Take>
  void for_each_prefix(std::string_view text, const Take& take) const {
    std::uint32_t node = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::uint32_t child = units_[node].base ^ static_cast<unsigned char>(text[at]);
      if (units_[child].check != node) return;
      node = child;
      if (units_[node].value >= 0) take(at + 1, units_[node].value);
    }
  }

  // The value of a key that is not empty; -1 if it is none.
  std::int32_t find(std::string_view key) const;

 private:
  class Builder;

  struct Unit {
    // Within the array together with all 255 neighbours, so a look-up needs no test of bounds.
    std::uint32_t base = 0;
    std::uint32_t check = kNone;  // the parent's index
    std::int32_t value = -1;      // -1: no key ends here
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  std::vector<Unit> units_;
};

}  // namespace dtl::trainer
