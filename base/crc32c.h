#pragma once
// CRC-32C (Castagnoli), as in RFC 3720: initial value and final xor are all ones. For frames of
// wire, checkpoints and TensorBoard's records: it finds accidents and stops nobody who means harm.
// Pure; the processor's own instruction where there is one, a table elsewhere.

#include <cstdint>
#include <string_view>

namespace dtl {

// before: the checksum of the bytes in front of these; 0: these are the first.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);
// The portable way, for comparison.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before = 0);

}  // namespace dtl
