#pragma once
// JoinListener: one TCP port of a range, for IPv6 and IPv4, that accepts every connection while it
// is open. JoinDoor checks tokens. Belongs to the io_context's thread.

#include <cstdint>
#include <functional>

#include "base/fd.h"
#include "plan/request/request.h"
#include "wire/asio.h"

namespace dtl {

class JoinListener {
 public:
  using Taken = std::function<void(Fd caller)>;
  // Listens at once, on the first free port of the range (0: any). Throws Error(kConfig) if none is
  // free.
  JoinListener(asio::io_context& context, PortRange ports, Taken taken);

  int port() const { return port_; }
  bool is_open() const { return socket_.is_open(); }
  void close();
  // Listens on the same port again. False if another process has it now.
  bool open_again();

 private:
  void start(Fd listening);
  void accept();
  void accept_later();

  asio::ip::tcp::acceptor socket_;
  asio::steady_timer shortage_;
  Taken taken_;
  int port_ = 0;
};

}  // namespace dtl
