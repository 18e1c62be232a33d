// The input is untrusted: a parcel's length is checked before its bytes are waited for.
#include "wire/tree/parcel.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dtl {
namespace {

constexpr std::size_t kRangeBytes = 8;

// Byte by byte, so that the machine's byte order does not matter.
void put(std::uint32_t value, std::string& to) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>((value >> shift) & 0xff);
}

std::uint32_t get(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(Exit::kVersion, "malformed parcel", reason);
}

}  // namespace

void encode_parcel(const Parcel& parcel, std::string& to) {
  to.reserve(to.size() + kParcelHeadBytes + parcel.bytes.size());
  to += static_cast<char>(parcel.kind);
  put(parcel.node, to);
  put(parcel.stream, to);
  put(static_cast<std::uint32_t>(parcel.bytes.size()), to);
  to += parcel.bytes;
}

// Only now, so that bytes are not moved once for each parcel.
std::nullopt_t ParcelReader::wait_for_more() {
  bytes_.erase(0, at_);
  at_ = 0;
  return std::nullopt;
}

std::optional<Parcel> ParcelReader::next() {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  if (left.size() < kParcelHeadBytes) return wait_for_more();
  // The offsets of parcel.h: kind 0, node 1, stream 5, length 9.
  const auto kind = static_cast<unsigned char>(left[0]);
  const std::uint32_t size = get(left.substr(9));
  if (kind < 1 || kind > static_cast<unsigned char>(ParcelKind::kPiece)) {
    refuse(fmt::format("its kind is {}", kind));
  }
  if (size > kMaxParcelBytes) {
    refuse(fmt::format("it has {} bytes, the limit is {}", size, kMaxParcelBytes));
  }
  if (left.size() < kParcelHeadBytes + size) return wait_for_more();
  Parcel parcel;
  parcel.kind = static_cast<ParcelKind>(kind);
  parcel.node = get(left.substr(1));
  parcel.stream = get(left.substr(5));
  parcel.bytes = left.substr(kParcelHeadBytes, size);
  at_ += kParcelHeadBytes + size;
  return parcel;
}

std::string encode_nodes(const std::vector<std::uint32_t>& nodes) {
  std::string bytes;
  for (std::size_t first = 0; first < nodes.size();) {
    if (bytes.size() + kRangeBytes > kMaxParcelBytes) break;
    std::size_t last = first;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    put(nodes[first], bytes);
    put(nodes[last], bytes);
    first = last + 1;
  }
  return bytes;
}

std::vector<std::uint32_t> decode_nodes(std::string_view bytes, std::uint32_t most) {
  if (bytes.size() % kRangeBytes != 0) refuse("half a range of nodes");
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t least = 0; !bytes.empty(); bytes.remove_prefix(kRangeBytes)) {
    const std::uint32_t first = get(bytes), last = get(bytes.substr(4));
    // Eight bytes can name four billion nodes. The limit keeps a false range from filling the
    // memory.
    if (first < least || last < first || last >= most) refuse("its ranges of nodes do not ascend");
    for (std::uint32_t node = first; node <= last; ++node) nodes.push_back(node);
    least = last + 1;
  }
  return nodes;
}

}  // namespace dtl
