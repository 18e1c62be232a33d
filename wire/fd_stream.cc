// Bytes over descriptors. Reads return bytes as they arrive; a FrameReader above makes messages of
// them.
#include "wire/fd_stream.h"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

// The usual size of a pipe.
constexpr std::size_t kReadBytes = 64 << 10;

class FdStream final : public ByteStream {
 public:
  FdStream(asio::io_context& context, Fd input, Fd output)
      : input_(context, input.release()), output_(context, output.release()) {
    input_.non_blocking(true);
    output_.non_blocking(true);
  }

  awaitable<std::string> read() override {
    std::string bytes(room_.next(), '\0');
    boost::system::error_code error;
    const std::size_t size = co_await input_.async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    // close() during a read counts as the end, as ByteStream promises.
    if (error == asio::error::eof || error == asio::error::operation_aborted || closed_) {
      co_return std::string();
    }
    if (error) throw Error(Exit::kIo, "cannot read", error.message());
    room_.filled(size);
    bytes.resize(size);
    co_return bytes;
  }

  // The pieces are not joined by a copy: one call writes many of them.
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    if (closed_) throw Error(Exit::kIo, "cannot write", "the stream is closed");
    GatheredWrite write;
    for (const std::string& piece : pieces) write.add(piece);
    while (write.left() > 0) {
      const int problem = write.write_some(output_.native_handle());
      if (problem == 0) continue;
      if (problem != EAGAIN) throw Error(Exit::kIo, "cannot write", errno_text(problem));
      boost::system::error_code error;
      co_await output_.async_wait(asio::posix::descriptor_base::wait_write,
                                  asio::redirect_error(asio::use_awaitable, error));
      if (error) throw Error(Exit::kIo, "cannot write", error.message());
    }
  }

  void close() override {
    closed_ = true;
    boost::system::error_code ignored;  // closing twice does no harm
    input_.close(ignored);
    output_.close(ignored);
  }

 private:
  asio::posix::stream_descriptor input_, output_;
  ReadRoom room_{kReadBytes};
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> make_fd_stream(asio::io_context& context, Fd input, Fd output) {
  return std::make_unique<FdStream>(context, std::move(input), std::move(output));
}

std::unique_ptr<ByteStream> make_fd_stream(asio::io_context& context, Fd both_ways) {
  // Asio wants one descriptor per object; the copy shares the socket.
  Fd copy(::fcntl(both_ways.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) throw system_error("cannot duplicate a descriptor");
  return make_fd_stream(context, std::move(both_ways), std::move(copy));
}

}  // namespace dtl
