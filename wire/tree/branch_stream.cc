// A branch that has ended and one that was closed look alike to its reader and its writer.
#include "wire/tree/branch_stream.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "wire/tree/parcel.h"

namespace dtl {

BranchStream::BranchStream(asio::io_context& context, Send send, std::function<void()> closed)
    : wake_(context, asio::steady_timer::time_point::max()),
      send_(std::move(send)),
      closed_(std::move(closed)) {}

void BranchStream::feed(std::string bytes) {
  if (ended_) return;
  if (received_.empty()) {
    received_ = std::move(bytes);
  } else {
    received_ += bytes;
  }
  wake_.cancel();
}

void BranchStream::end() {
  ended_ = true;
  wake_.cancel();
}

awaitable<std::string> BranchStream::read() {
  while (received_.empty() && !ended_) {
    boost::system::error_code woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return std::exchange(received_, {});
}

awaitable<void> BranchStream::write_pieces(std::vector<std::string> pieces) {
  for (const std::string& piece : pieces) {
    for (std::size_t at = 0; at < piece.size(); at += kMaxParcelBytes) {
      if (ended_) throw Error(Exit::kIo, "cannot write", "the branch has ended");
      co_await send_(piece.substr(at, kMaxParcelBytes));
    }
  }
}

void BranchStream::close() {
  if (ended_) return;
  end();
  received_.clear();
  closed_();
}

}  // namespace dtl
