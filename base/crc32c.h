#pragma once
// CRC-32C (Castagnoli), as in RFC 3720: initial value and final xor are all ones. For wire frames,
// checkpoints and TensorBoard records. It detects accidental damage, not manipulation. Pure; uses
// the processor's instruction if it has one, else a table.

#include <cstdint>
#include <string_view>

namespace dtl {

// before: the checksum of the preceding bytes; 0: these are the first.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);
// The portable implementation, for comparison.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before = 0);

}  // namespace dtl
