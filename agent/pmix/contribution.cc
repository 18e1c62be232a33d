#include "agent/pmix/contribution.h"

namespace dtl::pmix {
namespace {

// Little-endian: u64 size of what follows, u8 collective, u32 node, u64 context, u32 size of the
// name, the name, the data.
constexpr std::size_t kSizeBytes = 8, kHeadBytes = 1 + 4 + 8 + 4;

void put_number(std::string& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t take_number(std::string_view& bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(size);
  return value;
}

std::optional<Contribution> read_contribution(std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  Contribution contribution;
  const std::uint64_t kind = take_number(bytes, 1);
  if (kind < std::uint64_t(Collective::kFence) || kind > std::uint64_t(Collective::kEndGroup)) {
    return std::nullopt;
  }
  contribution.collective = static_cast<Collective>(kind);
  contribution.node = static_cast<std::uint32_t>(take_number(bytes, 4));
  contribution.context = take_number(bytes, 8);
  const std::uint64_t name = take_number(bytes, 4);
  if (name > bytes.size()) return std::nullopt;
  contribution.name = bytes.substr(0, name);
  contribution.data = bytes.substr(name);
  return contribution;
}

}  // namespace

std::string to_bytes(const Contribution& contribution) {
  std::string bytes;
  bytes.reserve(kSizeBytes + kHeadBytes + contribution.name.size() + contribution.data.size());
  put_number(bytes, kHeadBytes + contribution.name.size() + contribution.data.size(), kSizeBytes);
  put_number(bytes, static_cast<std::uint64_t>(contribution.collective), 1);
  put_number(bytes, contribution.node, 4);
  put_number(bytes, contribution.context, 8);
  put_number(bytes, contribution.name.size(), 4);
  bytes += contribution.name;
  bytes += contribution.data;
  return bytes;
}

std::optional<std::vector<Contribution>> read_contributions(std::string_view bytes) {
  std::vector<Contribution> all;
  while (!bytes.empty()) {
    if (bytes.size() < kSizeBytes) return std::nullopt;
    const std::uint64_t size = take_number(bytes, kSizeBytes);
    if (size > bytes.size()) return std::nullopt;
    auto one = read_contribution(bytes.substr(0, size));
    if (!one) return std::nullopt;
    all.push_back(std::move(*one));
    bytes.remove_prefix(size);
  }
  return all;
}

}  // namespace dtl::pmix
