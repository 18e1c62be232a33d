// Stores the period twice, so that a piece beginning anywhere in the first is contiguous.
#include "ring/perf/perf_sequence.h"

#include <algorithm>
#include <cstring>

#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

// The number of elements from `index` to the end of its piece.
std::uint64_t rest_of_piece(std::uint64_t index) {
  return Sequence::kPeriod - index % Sequence::kPeriod;
}

}  // namespace

Sequence::Sequence(std::size_t element_bytes,
                   const std::function<void(std::uint64_t x, std::byte* out)>& put)
    : element_bytes_(element_bytes), elements_(2 * kPeriod * element_bytes) {
  const std::size_t half = kPeriod * element_bytes;
  for (std::uint64_t x = 0; x < kPeriod; ++x) put(x, elements_.data() + x * element_bytes);
  std::memcpy(elements_.data() + half, elements_.data(), half);
}

const std::byte* Sequence::at(std::uint64_t index, std::uint64_t turn) const {
  const std::uint64_t begin = mix(index / kPeriod, turn) % kPeriod;
  return elements_.data() + (begin + index % kPeriod) * element_bytes_;
}

void Sequence::write(std::byte* out, std::uint64_t first, std::uint64_t count,
                     std::uint64_t turn) const {
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t n = std::min(count - done, rest_of_piece(first + done));
    std::memcpy(out + done * element_bytes_, at(first + done, turn), n * element_bytes_);
    done += n;
  }
}

std::uint64_t Sequence::count_wrong(const std::byte* data, std::uint64_t first, std::uint64_t count,
                                    std::uint64_t turn, std::uint64_t* where) const {
  std::uint64_t wrong = 0;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t n = std::min(count - done, rest_of_piece(first + done));
    const std::byte* seen = data + done * element_bytes_;
    const std::byte* right = at(first + done, turn);
    // Compares single elements only after a difference, which is rare.
    if (std::memcmp(seen, right, n * element_bytes_) != 0) {
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::size_t offset = i * element_bytes_;
        if (std::memcmp(seen + offset, right + offset, element_bytes_) == 0) continue;
        if (wrong++ == 0) *where = done + i;
      }
    }
    done += n;
  }
  return wrong;
}

}  // namespace dtl::ring
