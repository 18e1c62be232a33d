#pragma once
// PeerInfo: what every rank of a communicator is told of every other: where it listens, on which
// node it is, and how its memory is read there. As text, in one table that rank 0 makes and sends
// to all.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ring/common/socket.h"
#include "ring/meeting/control_tree.h"

namespace dtl::ring {

struct PeerInfo {
  std::optional<Address> address;  // where it listens
  std::string host;
  std::string node;   // equal on ranks that may share memory
  std::string share;  // ShmNode::address()
};

// "rank 3 (node02)", for messages.
std::string rank_name(int rank, const std::string& host);

std::string encode_peer(const PeerInfo& member);
// own: this rank's address, whose interface is where link-local addresses are looked for. Throws
// CommError for garbage.
PeerInfo decode_peer(std::string_view text, const Address& own);

// What rank 0 decides for all. Ranks may have been started with other options; those of rank 0
// count, since ranks that chose differently would not fit together.
struct Settings {
  std::uint32_t streams = 1;
  std::uint32_t wire = 1;   // a dt_wire
  std::uint32_t flags = 0;  // dt_flags
  // Whether the table of allreduces is measured: a flag.
  std::uint32_t tunes = 0;
  // The most ranks that all connect to all others at once; more of them make links on first use.
  std::uint32_t most_linked = kFanOut + 1;
  // The most control lines of a rank to others below it; only of ranks that make links on first
  // use.
  std::uint32_t fan_out = kFanOut;
  std::string allreduce;
};

std::string encode_table(const Settings& settings, const std::vector<PeerInfo>& members);
// members has one for each rank.
void decode_table(std::string_view text, const Address& own, Settings& settings,
                  std::vector<PeerInfo>& members);

}  // namespace dtl::ring
