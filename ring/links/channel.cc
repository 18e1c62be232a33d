// MSG_NOSIGNAL everywhere: a closed peer must not kill the program with SIGPIPE.
#include "ring/links/channel.h"

#include <sys/socket.h>

#include <array>

namespace dtl::ring {
namespace {

msghdr message_of(std::span<const iovec> parts) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  return message;
}

}  // namespace

ssize_t Channel::send(std::span<const iovec> parts) {
  if (tls_) return tls_->send(parts);
  const msghdr message = message_of(parts);
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t Channel::send(const void* data, std::size_t bytes) {
  if (!tls_) return ::send(fd_.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  const std::array<iovec, 1> part{iovec{const_cast<void*>(data), bytes}};
  return tls_->send(part);
}

ssize_t Channel::receive(std::span<const iovec> parts) {
  if (tls_) return tls_->receive(parts);
  msghdr message = message_of(parts);
  return ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
}

ssize_t Channel::receive(void* data, std::size_t bytes) {
  if (!tls_) return ::recv(fd_.get(), data, bytes, MSG_DONTWAIT);
  const std::array<iovec, 1> part{iovec{data, bytes}};
  return tls_->receive(part);
}

}  // namespace dtl::ring
