// Asio opens sockets without SOCK_CLOEXEC, so socket(2) is called here.
#include "wire/private_socket.h"

#include <sys/socket.h>

#include "base/fd.h"

namespace dtl {

void open_in_this_process(asio::ip::tcp::socket& socket, const asio::ip::tcp& protocol) {
  Fd fd(::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  boost::system::error_code problem;
  socket.assign(protocol, fd.get(), problem);
  if (!problem) fd.release();
}

void keep_in_this_process(asio::ip::tcp::socket& socket) {
  // accept(2) does not set the flag. A program that starts before this line inherits the socket.
  set_close_on_exec(socket.native_handle(), true);
}

}  // namespace dtl
