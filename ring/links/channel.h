#pragma once
// Channel: a connected, non-blocking socket, with TLS if the job is encrypted and the connection
// leaves the host. Links and control lines use it so that they need not distinguish the two. Reads
// and writes like recv(2) and send(2) with MSG_DONTWAIT, including errno, which may also be
// kAltered or kRejected (tls.h). One thread at a time.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/fd.h"
#include "ring/links/tls.h"

namespace dtl::ring {

class Channel {
 public:
  Channel() = default;
  Channel(Fd fd, std::unique_ptr<Tls> tls = nullptr) : fd_(std::move(fd)), tls_(std::move(tls)) {}

  void encrypt(std::unique_ptr<Tls> tls) { tls_ = std::move(tls); }  // from now on
  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  ssize_t send(std::span<const iovec> parts);
  ssize_t send(const void* data, std::size_t bytes);
  ssize_t receive(std::span<const iovec> parts);
  ssize_t receive(void* data, std::size_t bytes);

 private:
  Fd fd_;
  std::unique_ptr<Tls> tls_;  // destroyed before the socket
};

}  // namespace dtl::ring
