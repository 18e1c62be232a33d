#pragma once
// A ByteStream over one descriptor in both directions (a socket pair), or over two (the agent's
// standard input and output). Owns them and makes them non-blocking. The program must ignore
// SIGPIPE.

#include <memory>

#include "base/fd.h"
#include "wire/asio.h"
#include "wire/byte_stream.h"

namespace dtl {

std::unique_ptr<ByteStream> make_fd_stream(asio::io_context& context, Fd both_ways);
std::unique_ptr<ByteStream> make_fd_stream(asio::io_context& context, Fd input, Fd output);

}  // namespace dtl
