// The end of the child shows in three places, in any order: its socket, its standard error and its
// pidfd. Only the pidfd has the reason.
#include "launcher/streams/local_stream.h"

#include <array>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/machine/process_id.h"
#include "launcher/streams/stderr_tail.h"
#include "wire/fd_stream.h"

namespace dtl {
namespace {

using asio::posix::stream_descriptor;

// What is known about the child; shared by the stream and the handlers that watch the child.
struct Watch : std::enable_shared_from_this<Watch> {
  Watch(asio::io_context& context, Child spawned)
      : child(std::move(spawned)),
        errors(context, child.standard_error.release()),
        process(context, child.process.get()),
        ended(context, asio::steady_timer::time_point::max()) {}
  ~Watch() { process.release(); }  // the Child closes it

  void start() {
    read_errors();
    process.async_wait(stream_descriptor::wait_read,
                       // Handlers keep the Watch alive: the stream may be gone when they run.
                       [self = shared_from_this()](boost::system::error_code cancelled) {
                         if (cancelled) return;
                         self->child.ending();
                         self->ended.cancel();
                       });
  }

  void read_errors() {
    errors.async_read_some(
        asio::buffer(buffer),
        [self = shared_from_this()](boost::system::error_code error, std::size_t size) {
          if (error) return;
          self->tail.append({self->buffer.data(), size});
          self->read_errors();
        });
  }

  // Reads what is in the pipe now, without waiting.
  void drain_errors() {
    // No blocking read: a grandchild may hold the other end of the pipe open.
    boost::system::error_code empty;
    errors.non_blocking(true, empty);
    while (!empty && errors.is_open()) {
      const std::size_t size = errors.read_some(asio::buffer(buffer), empty);
      if (!empty) tail.append({buffer.data(), size});
    }
  }

  void stop() {
    boost::system::error_code ignored;  // closing twice is harmless
    errors.close(ignored);
    process.cancel(ignored);
    ended.cancel();
    child.ending();
  }

  Child child;
  stream_descriptor errors;
  stream_descriptor process;
  asio::steady_timer ended;
  StderrTail tail;
  std::array<char, 4096> buffer;
};

class LocalStream final : public AgentStream {
 public:
  LocalStream(asio::io_context& context, Child child, bool has_our_input)
      : has_our_input_(has_our_input) {
    Fd socket = std::move(child.socket);
    watch_ = std::make_shared<Watch>(context, std::move(child));
    stream_ = make_fd_stream(context, std::move(socket));
    watch_->start();
  }
  ~LocalStream() override { LocalStream::close(); }

  awaitable<std::string> read() override {
    const std::shared_ptr<Watch> watch = watch_;
    std::string bytes = co_await stream_->read();
    if (bytes.empty() && !closed_ && watch->child.ending().empty()) {
      // The end of the stream; its reason follows at once.
      watch->ended.expires_after(kDrainDeadline);
      boost::system::error_code woken;
      co_await watch->ended.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    // The last messages explain its end.
    if (bytes.empty()) watch->drain_errors();
    co_return bytes;
  }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override {
    if (std::exchange(closed_, true)) return;
    stream_->close();
    watch_->drain_errors();
    watch_->stop();
  }
  std::string standard_error() const override { return watch_->tail.text(); }
  std::string ending() const override { return watch_->child.ending(); }
  bool has_our_input() const override { return has_our_input_; }
  bool is_here() const override { return true; }
  pid_t process() const override;

 private:
  std::shared_ptr<Watch> watch_;
  std::unique_ptr<ByteStream> stream_;
  bool closed_ = false;
  const bool has_our_input_;
};

// Our child is the job-keeper (ARCHITECTURE.md); the agent is its child.
pid_t LocalStream::process() const {
  if (!watch_->child.ending().empty()) return 0;
  for (const pid_t child : children_of(watch_->child.pid)) {
    if (process_name(child) == "dtagent") return child;
  }
  return 0;
}

}  // namespace

std::unique_ptr<AgentStream> make_local_stream(asio::io_context& context, Child child,
                                               bool has_our_input) {
  return std::make_unique<LocalStream>(context, std::move(child), has_our_input);
}

}  // namespace dtl
