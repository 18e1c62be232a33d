#pragma once
// TCP sockets that child processes do not inherit. Asio opens and accepts sockets without
// close-on-exec: a program that another thread starts meanwhile inherits them, and the peer sees no
// end of stream until that program ends.

#include "wire/asio.h"

namespace dtl {

// Call it before async_connect(). If it fails, async_connect() opens the socket itself, and reports
// the error if that fails too.
void open_in_this_process(asio::ip::tcp::socket& socket, const asio::ip::tcp& protocol);

// Call it on an accepted socket.
void keep_in_this_process(asio::ip::tcp::socket& socket);

}  // namespace dtl
