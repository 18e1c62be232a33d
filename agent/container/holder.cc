#include "agent/container/holder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace dtl {
namespace {

constexpr int kNamespaces = 2;
constexpr std::size_t kMostBytes = 128 << 10;  // of the environment; a message holds about 200 KiB

Fd open_namespace(const char* path) {
  Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw system_error(std::string(path) + ": cannot open");
  return file;
}

std::string own_environment() {
  std::string text;
  for (char** at = environ; *at != nullptr; ++at) {
    text += *at;
    text += '\0';
  }
  if (text.size() > kMostBytes) {
    throw Error(Exit::kConfig, "the image's environment", "it has more than 128 KiB");
  }
  return text;
}

void send_held(const int (&namespaces)[kNamespaces], std::string text) {
  // A message of no bytes would look like the end.
  text += '\0';
  iovec buffer{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof namespaces)] = {};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* attached = CMSG_FIRSTHDR(&message);
  attached->cmsg_level = SOL_SOCKET;
  attached->cmsg_type = SCM_RIGHTS;
  attached->cmsg_len = CMSG_LEN(sizeof namespaces);
  std::memcpy(CMSG_DATA(attached), namespaces, sizeof namespaces);
  if (::sendmsg(kHolderLinkFd, &message, MSG_NOSIGNAL) < 0) {
    throw system_error("cannot send the container's namespaces");
  }
}

}  // namespace

Exit hold_container() {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(kHolderLinkFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      type != SOCK_SEQPACKET) {
    throw Error(Exit::kUsage, "--hold", "only dtagent uses it, in a container",
                "dtlaunch --container IMAGE");
  }
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  const Fd user = open_namespace("/proc/self/ns/user"), mount = open_namespace("/proc/self/ns/mnt");
  send_held({user.get(), mount.get()}, own_environment());
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(kHolderLinkFd, &byte, 1);
  } while (got > 0 || (got < 0 && errno == EINTR));
  return Exit::kOk;
}

std::optional<HeldContainer> receive_held(int link) {
  std::string text(kMostBytes + 1, '\0');
  iovec buffer{text.data(), text.size()};
  int namespaces[kNamespaces] = {-1, -1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof namespaces)];
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(link, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* attached = CMSG_FIRSTHDR(&message);
  const bool whole = size > 0 && attached != nullptr && attached->cmsg_type == SCM_RIGHTS &&
                     attached->cmsg_len == CMSG_LEN(sizeof namespaces);
  if (!whole) return std::nullopt;
  std::memcpy(namespaces, CMSG_DATA(attached), sizeof namespaces);
  HeldContainer held{Fd(namespaces[0]), Fd(namespaces[1]), {}};
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  while (!rest.empty()) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    if (variable.find('=') != std::string_view::npos) held.environment.emplace_back(variable);
    rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
  }
  return held;
}

}  // namespace dtl
