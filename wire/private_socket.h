#pragma once
// TCP sockets that stay in this process. Asio opens and accepts sockets without close-on-exec: a
// program that another thread starts meanwhile has them, too, and their other end sees no end
// before that program's.

#include "wire/asio.h"

namespace dtl {

// To be called before async_connect(). If it fails, async_connect() opens the socket itself, and
// reports the reason if that fails as well.
void open_in_this_process(asio::ip::tcp::socket& socket, const asio::ip::tcp& protocol);

// To be called on a socket that was accepted.
void keep_in_this_process(asio::ip::tcp::socket& socket);

}  // namespace dtl
