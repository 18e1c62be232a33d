// One netlink dump per address family. Kernels report different details, and a container may forbid
// the socket: all of that counts as "not known".
#include "agent/node/tcp_connections.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace dtl {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;
constexpr timeval kKernelPatience{0, 200'000};  // the kernel answers at once
constexpr std::uint32_t kEstablished = 1 << 1;

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

bool ask(int socket, int family, std::uint32_t states) {
  Question question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.body.sdiag_family = static_cast<std::uint8_t>(family);
  question.body.sdiag_protocol = IPPROTO_TCP;
  // Extensions are bits, counted from 1.
  question.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  question.body.idiag_states = states;
  return ::send(socket, &question, sizeof question, 0) == sizeof question;
}

// Empty for loopback.
std::string address_of(const inet_diag_msg& message) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes = message.id.idiag_dst;
  if (::inet_ntop(message.idiag_family, bytes, text, sizeof text) == nullptr) return {};
  std::string address = text;
  constexpr std::string_view kMapped = "::ffff:";
  // IPv4 on an IPv6 socket: the launcher knows the peer by its IPv4 address.
  if (address.starts_with(kMapped) && address.find('.') != address.npos) {
    address = address.substr(kMapped.size());
  }
  return address.starts_with("127.") || address == "::1" ? std::string() : address;
}

// Offsets in the kernel's struct tcp_info, which only ever grows at its end. The header that
// declares all fields conflicts with the C library's, which Asio includes.
constexpr std::size_t kBytesAcked = 120, kBusyTime = 168, kPeerLimited = 176, kInfoBytes = 184;

std::uint64_t number_at(std::string_view info, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, info.data() + at, sizeof value);
  return value;
}

// Empty if the kernel is too old to report all of these.
std::string_view info_of(const inet_diag_msg& message, std::size_t bytes) {
  const auto* at = reinterpret_cast<const char*>(&message) + NLMSG_ALIGN(sizeof message);
  const char* end = reinterpret_cast<const char*>(&message) + bytes;
  while (at + sizeof(nlattr) <= end) {
    nlattr attribute;
    std::memcpy(&attribute, at, sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || at + attribute.nla_len > end) break;
    const std::size_t size = attribute.nla_len - static_cast<std::size_t>(NLA_HDRLEN);
    if (attribute.nla_type == INET_DIAG_INFO && size >= kInfoBytes) return {at + NLA_HDRLEN, size};
    at += NLA_ALIGN(attribute.nla_len);
  }
  return {};
}

void note(const inet_diag_msg& message, std::size_t bytes, std::vector<TcpConnection>& found) {
  const std::string_view info = info_of(message, bytes);
  TcpConnection connection;
  connection.peer = address_of(message);
  if (info.empty() || connection.peer.empty()) return;
  connection.inode = message.idiag_inode;
  connection.acked = number_at(info, kBytesAcked);
  const std::uint64_t busy = number_at(info, kBusyTime);
  // While the peer's window was full, its reader was slow, not the network.
  connection.busy_us = busy - std::min(busy, number_at(info, kPeerLimited));
  found.push_back(std::move(connection));
}

enum class Answer { kMore, kEnd, kRefused };

// Calls use() with each message and its length.
template <typename Use>
Answer take(const char* bytes, std::size_t size, const Use& use) {
  while (size >= sizeof(nlmsghdr)) {
    const auto& head = *reinterpret_cast<const nlmsghdr*>(bytes);
    // An invalid length would make the loop spin or leave the buffer.
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > size) return Answer::kRefused;
    if (head.nlmsg_type == NLMSG_DONE) return Answer::kEnd;
    if (head.nlmsg_type == NLMSG_ERROR) return Answer::kRefused;
    if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        head.nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg))) {
      use(*static_cast<const inet_diag_msg*>(NLMSG_DATA(&head)), head.nlmsg_len - NLMSG_HDRLEN);
    }
    const std::size_t whole = std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), size);
    bytes += whole;
    size -= whole;
  }
  return Answer::kMore;
}

// Calls use() for the node's sockets in these states. False if the kernel does not report all.
template <typename Use>
bool for_each_socket(std::uint32_t states, const Use& use) {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket.valid()) return false;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kKernelPatience, sizeof kKernelPatience);
  alignas(nlmsghdr) char buffer[kBufferBytes];
  bool whole = true;
  for (const int family : {AF_INET, AF_INET6}) {
    if (!ask(socket.get(), family, states)) return false;
    Answer answer = Answer::kMore;
    while (answer == Answer::kMore) {
      const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      answer = take(buffer, static_cast<std::size_t>(got), use);
    }
    // If IPv6 is disabled, the kernel refuses, and there are no such sockets.
    whole = whole && (answer == Answer::kEnd || family == AF_INET6);
  }
  return whole;
}

}  // namespace

std::vector<TcpConnection> tcp_connections() {
  std::vector<TcpConnection> found;
  for_each_socket(kEstablished, [&](const inet_diag_msg& message, std::size_t bytes) {
    note(message, bytes, found);
  });
  return found;
}

std::optional<std::vector<TcpEnd>> tcp_ends() {
  constexpr std::uint32_t kAllStates = ~0U;
  constexpr std::uint8_t kTimeWait = 6, kListens = 10;  // the kernel's numbers of TCP states
  std::vector<TcpEnd> found;
  const bool whole = for_each_socket(kAllStates, [&](const inet_diag_msg& message, std::size_t) {
    found.push_back({message.idiag_inode, ntohs(message.id.idiag_sport),
                     ntohs(message.id.idiag_dport), message.idiag_state == kListens,
                     message.idiag_state == kTimeWait});
  });
  return whole ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace dtl
