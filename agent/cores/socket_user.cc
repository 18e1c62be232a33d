#include "agent/cores/socket_user.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/fd.h"

namespace dtl {
namespace {

// In the kernel's headers since Linux 5.3.
constexpr std::uint32_t kShowUser = 0x40;
constexpr int kUserAttribute = 7;

constexpr timeval kKernelPatience{0, 200'000};  // the kernel answers at once
constexpr std::size_t kAnswerBytes = 4096;

bool ask_for_socket(const Fd& kernel, std::uint32_t inode) {
  struct {
    nlmsghdr head;
    unix_diag_req body;
  } question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = AF_UNIX;
  question.body.udiag_ino = inode;
  question.body.udiag_show = UDIAG_SHOW_NAME | kShowUser;
  for (std::uint32_t& word : question.body.udiag_cookie) word = UINT32_MAX;  // of any age
  return ::send(kernel.get(), &question, sizeof question, 0) == sizeof question;
}

}  // namespace

std::optional<uid_t> user_of_socket(std::uint32_t inode, const std::string& name) {
  const Fd kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel.valid()) return std::nullopt;
  ::setsockopt(kernel.get(), SOL_SOCKET, SO_RCVTIMEO, &kKernelPatience, sizeof kKernelPatience);
  alignas(nlmsghdr) char answer[kAnswerBytes];
  if (!ask_for_socket(kernel, inode)) return std::nullopt;
  const ssize_t got = ::recv(kernel.get(), answer, sizeof answer, 0);
  constexpr std::size_t kBegin = NLMSG_LENGTH(sizeof(unix_diag_msg));
  if (got < static_cast<ssize_t>(kBegin)) return std::nullopt;
  const auto& head = *reinterpret_cast<const nlmsghdr*>(answer);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::optional<uid_t> user;
  std::string_view found;
  const std::string_view whole(answer, static_cast<std::size_t>(got));
  for (std::size_t at = NLMSG_ALIGN(kBegin); at + NLA_HDRLEN <= whole.size();) {
    nlattr attribute;
    std::memcpy(&attribute, answer + at, sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || at + attribute.nla_len > whole.size()) break;
    const std::string_view value =
        whole.substr(at + NLA_HDRLEN, attribute.nla_len - static_cast<std::size_t>(NLA_HDRLEN));
    if (attribute.nla_type == UNIX_DIAG_NAME) found = value;
    if (attribute.nla_type == kUserAttribute && value.size() == sizeof(std::uint32_t)) {
      std::uint32_t number = 0;
      std::memcpy(&number, value.data(), sizeof number);
      user = number;
    }
    at += NLA_ALIGN(attribute.nla_len);
  }
  // The kernel's list may have a made-up inode.
  return found == std::string(1, '\0') + name ? user : std::nullopt;
}

}  // namespace dtl
