// Strings with two bytes of length in front of each. Lengths are checked although whoever sends
// this has proved the secret: a fault in one rank must not crash the others.
#include "ring/meeting/peer_info.h"

#include <fmt/format.h>

#include <cstring>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

void put(std::string& text, std::string_view piece) {
  text += static_cast<char>(piece.size() & 0xff);
  text += static_cast<char>(piece.size() >> 8);
  text += piece;
}

std::string_view take(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t bytes = text.size() < 2 ? text.size() : byte(0) + (std::size_t{byte(1)} << 8);
  if (text.size() < 2 + bytes) {
    throw CommError(DT_E_SYS, "cannot join the ring", "the table of ranks is garbled");
  }
  const std::string_view piece = text.substr(2, bytes);
  text.remove_prefix(2 + bytes);
  return piece;
}

// Family, address and port in network order.
std::string encode_address(const Address& address) {
  std::string text(1, address.family() == AF_INET6 ? '6' : '4');
  const auto* at = address.get();
  if (address.family() == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(at);
    text.append(reinterpret_cast<const char*>(&in6->sin6_addr), 16);
    text.append(reinterpret_cast<const char*>(&in6->sin6_port), 2);
  } else {
    const auto* in4 = reinterpret_cast<const sockaddr_in*>(at);
    text.append(reinterpret_cast<const char*>(&in4->sin_addr), 4);
    text.append(reinterpret_cast<const char*>(&in4->sin_port), 2);
  }
  return text;
}

Address decode_address(std::string_view text, const Address& own) {
  const bool is_v6 = !text.empty() && text[0] == '6';
  const std::size_t bytes = is_v6 ? 16 : 4;
  if (text.size() != 1 + bytes + 2) {
    throw CommError(DT_E_SYS, "cannot join the ring", "a rank's address is garbled");
  }
  const char* address = text.data() + 1;
  if (is_v6) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    std::memcpy(&in6.sin6_addr, address, 16);
    std::memcpy(&in6.sin6_port, address + 16, 2);
    // The sender's number of the interface means nothing here. The address is reached by the
    // interface that reached rank 0.
    if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) && own.family() == AF_INET6) {
      in6.sin6_scope_id = reinterpret_cast<const sockaddr_in6*>(own.get())->sin6_scope_id;
    }
    return {reinterpret_cast<const sockaddr*>(&in6), sizeof in6};
  }
  sockaddr_in in4{};
  in4.sin_family = AF_INET;
  std::memcpy(&in4.sin_addr, address, 4);
  std::memcpy(&in4.sin_port, address + 4, 2);
  return {reinterpret_cast<const sockaddr*>(&in4), sizeof in4};
}

}  // namespace

std::string rank_name(int rank, const std::string& host) {
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

std::string encode_peer(const PeerInfo& member) {
  std::string text;
  put(text, encode_address(*member.address));
  put(text, member.host);
  put(text, member.node);
  put(text, member.share);
  return text;
}

PeerInfo decode_peer(std::string_view text, const Address& own) {
  PeerInfo member;
  member.address = decode_address(take(text), own);
  member.host = take(text);
  member.node = take(text);
  member.share = take(text);
  return member;
}

std::string encode_table(const Settings& settings, const std::vector<PeerInfo>& members) {
  const std::uint32_t numbers[] = {settings.streams, settings.wire,        settings.flags,
                                   settings.tunes,   settings.most_linked, settings.fan_out};
  std::string text;
  put(text, {reinterpret_cast<const char*>(numbers), sizeof numbers});
  put(text, settings.allreduce);
  for (const PeerInfo& member : members) put(text, encode_peer(member));
  return text;
}

void decode_table(std::string_view text, const Address& own, Settings& settings,
                  std::vector<PeerInfo>& members) {
  std::uint32_t numbers[6];
  const std::string_view head = take(text);
  if (head.size() != sizeof numbers) {
    throw CommError(DT_E_SYS, "cannot join the ring", "the table of ranks is garbled");
  }
  std::memcpy(numbers, head.data(), sizeof numbers);
  // In the order of encode_table(). All ranks speak the same version of the protocol: the handshake
  // has checked it.
  settings = {numbers[0],
              numbers[1],
              numbers[2],
              numbers[3],
              numbers[4],
              numbers[5],
              std::string(take(text))};
  for (PeerInfo& member : members) member = decode_peer(take(text), own);
}

}  // namespace dtl::ring
