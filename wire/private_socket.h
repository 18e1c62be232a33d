#pragma once
// TCP sockets that stay in this process: Asio opens and accepts them so that every program which
// another thread starts meanwhile has them, too, and their other end sees no end before that one's.

#include "wire/asio.h"

namespace dtl {

// To be called before async_connect(), which opens the socket itself where this could not, and then
// says why.
void open_in_this_process(asio::ip::tcp::socket& socket, const asio::ip::tcp& protocol);

// To be called on a socket that was accepted.
void keep_in_this_process(asio::ip::tcp::socket& socket);

}  // namespace dtl
