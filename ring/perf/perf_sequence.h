#pragma once
// Sequence: an endless row of elements made of one short period, so that gigabytes are written and
// checked as fast as memory is copied and compared. The start of the k-th piece within the period
// depends on k and on the turn, the number of the operation. So an element that is late, early or
// misplaced is almost certainly wrong, which a constant buffer would not show. Immutable.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace dtl::ring {

class Sequence {
 public:
  static constexpr std::uint64_t kPeriod = 4093;  // prime; 2 x 32 KiB of the widest type

  // put(x, out) writes the element at x of the period.
  Sequence(std::size_t element_bytes,
           const std::function<void(std::uint64_t x, std::byte* out)>& put);

  // Elements first ... first + count - 1.
  void write(std::byte* out, std::uint64_t first, std::uint64_t count, std::uint64_t turn) const;
  // Returns how many differ; *where is the index of the first of them, counted from `first`.
  std::uint64_t count_wrong(const std::byte* data, std::uint64_t first, std::uint64_t count,
                            std::uint64_t turn, std::uint64_t* where) const;
  const std::byte* at(std::uint64_t index, std::uint64_t turn) const;

 private:
  std::size_t element_bytes_;
  std::vector<std::byte> elements_;  // the period, twice
};

}  // namespace dtl::ring
