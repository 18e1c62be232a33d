#include "agent/output.h"

#include <utility>

#include "base/limits.h"

namespace dtl {

awaitable<void> forward_output(asio::io_context& context, Connection& connection, Fd pipe,
                               std::uint32_t rank, Stream stream) {
  asio::posix::stream_descriptor reader(context, pipe.release());
  std::string bytes;
  for (;;) {
    co_await connection.wait_below(kOutputInFlight);
    bytes.resize(kMaxOutputBytes);
    boost::system::error_code error;
    const std::size_t size = co_await reader.async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;  // the end of the pipe
    bytes.resize(size);
    connection.send(Output{rank, stream, bytes});
  }
}

RankInput::RankInput(asio::io_context& context, Connection& connection, std::uint32_t rank, Fd pipe)
    : connection_(connection),
      rank_(rank),
      pipe_(context, pipe.release()),
      wake_(context, asio::steady_timer::time_point::max()) {}

void RankInput::put(const Stdin& message) {
  if (!message.bytes.empty()) queue_.push_back(message.bytes);
  end_ = end_ || message.end;
  wake_.cancel();
}

awaitable<void> RankInput::run() {
  for (;;) {
    boost::system::error_code error;
    if (!queue_.empty()) {
      const std::string bytes = std::move(queue_.front());
      queue_.pop_front();
      // A rank that closed its standard input reads nothing more; the bytes are dropped.
      co_await asio::async_write(pipe_, asio::buffer(bytes),
                                 asio::redirect_error(asio::use_awaitable, error));
      connection_.send(StdinTaken{rank_, static_cast<std::uint32_t>(bytes.size())});
    } else if (end_) {
      pipe_.close(error);
      co_return;
    } else {
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
}

void RankInput::close() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
  end_ = true;
  wake_.cancel();
}

}  // namespace dtl
