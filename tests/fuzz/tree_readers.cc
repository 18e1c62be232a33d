// Readers of what agents of a tree pass on: parcels, and the numbers of nodes in some of them.

#include <algorithm>

#include "tests/fuzz/reader.h"
#include "wire/tree/parcel.h"

namespace dtl::fuzz {
namespace {

constexpr std::uint32_t kMostNodes = 65536;

bool is_parcel_error(const Error& error) {
  return error.status() == Exit::kVersion && !error.reason().empty();
}

// In two pieces, as sockets may.
void read_parcels(const std::string& bytes) {
  ParcelReader reader;
  std::string again;
  const std::size_t half = bytes.size() / 2;
  for (const std::string& piece : {bytes.substr(0, half), bytes.substr(half)}) {
    reader.feed(piece);
    while (const auto parcel = reader.next()) {
      require(parcel->bytes.size() <= kMaxParcelBytes, "a parcel over the limit");
      encode_parcel(*parcel, again);
    }
  }
  require(bytes.starts_with(again), "other parcels than came");
}

void read_nodes(const std::string& bytes) {
  const std::vector<std::uint32_t> nodes = decode_nodes(bytes, kMostNodes);
  require(std::is_sorted(nodes.begin(), nodes.end()), "numbers that do not ascend");
  require(nodes.empty() || nodes.back() < kMostNodes, "a number over the limit");
  require(decode_nodes(encode_nodes(nodes), kMostNodes) == nodes, "other nodes than came");
}

}  // namespace

std::vector<Reader> tree_readers() {
  std::string parcels;
  encode_parcel({ParcelKind::kArrived, 3, 1, {}}, parcels);
  encode_parcel({ParcelKind::kBytes, 3, 1, "bytes"}, parcels);
  encode_parcel({}, parcels);
  const std::string nodes = encode_nodes({0, 1, 2, 7, 9, 10});
  return {{"parcels", {parcels}, {std::string(4, '\xff')}, read_parcels, is_parcel_error},
          {"nodes", {nodes}, {std::string(4, '\xff')}, read_nodes, is_parcel_error}};
}

}  // namespace dtl::fuzz
