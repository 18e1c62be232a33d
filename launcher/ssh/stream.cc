// All channels of a session share its packets: a call for one may read what another waits for.
// Callbacks only note what has arrived.
#include "launcher/ssh/stream.h"

#include <fmt/format.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/streams/stderr_tail.h"
#include "wire/byte_stream.h"

namespace dtl {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kWriteBytes = 32 << 10;  // libssh's largest packet
constexpr int kRounds = 16;  // packets per event, so that a busy host does not starve others

// After the end of the output libssh does not poll for the exit status by itself.
void ask_for_ending(ssh_channel channel) {
#if LIBSSH_VERSION_INT >= SSH_VERSION_INT(0, 11, 0)
  std::uint32_t status = 0;
  char* signal = nullptr;
  int core = 0;
  ssh_channel_get_exit_state(channel, &status, &signal, &core);
  ssh_string_free_char(signal);
#else
  ssh_channel_get_exit_status(channel);
#endif
}

// Shared by the stream, its coroutines and the session's handler.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(std::shared_ptr<SshSession> owner, ChannelEnd what_ends)
      : session(std::move(owner)),
        end(what_ends),
        handle(ssh_channel_new(session->handle())),
        patience(session->context()) {
    callbacks.userdata = this;
    // libssh keeps a pointer to `callbacks`, so a Channel must not move.
    callbacks.channel_exit_status_function = [](ssh_session, ssh_channel, int status, void* self) {
      static_cast<Channel*>(self)->ending = fmt::format("exit status {}", status);
    };
    callbacks.channel_exit_signal_function = [](ssh_session, ssh_channel, const char* signal, int,
                                                const char*, const char*, void* self) {
      static_cast<Channel*>(self)->ending = fmt::format("killed by SIG{}", printable(signal));
    };
    callbacks.channel_eof_function = [](ssh_session, ssh_channel, void* self) {
      static_cast<Channel*>(self)->far_eof = true;
    };
    callbacks.channel_close_function = [](ssh_session, ssh_channel, void* self) {
      static_cast<Channel*>(self)->far_closed = true;
    };
    ssh_callbacks_init(&callbacks);
    ssh_set_channel_callbacks(handle, &callbacks);
  }
  // The stream is gone, or was never made. Nobody else would close a session in which nothing ran,
  // and it would wait for a server that keeps the connection.
  ~Channel() {
    if (!closed && end == ChannelEnd::kWholeSession) session->close();
    ssh_remove_channel_callbacks(handle, &callbacks);
    ssh_channel_free(handle);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Reads received packets and sends queued ones. False when no more can arrive.
  bool process() {
    // Until a round brings no more bytes. Received bytes stay in libssh's buffer until read().
    for (int round = 0, before = -1; round < kRounds; ++round) {
      const int now = ssh_channel_poll(handle, 0);
      drain_errors();
      if (now == before) break;
      before = now;
    }
    // Unread output must not hide the channel's end, which a write waits for.
    if (far_eof && !far_closed) session->take_packets_in();
    if (ssh_channel_is_eof(handle) != 0) ask_for_ending(handle);
    return !lost() && ssh_channel_is_closed(handle) == 0;
  }

  // Standard error shares the window with the output: unread, it would stop the output.
  void drain_errors() {
    std::array<char, 4096> buffer;
    for (;;) {
      const int size = ssh_channel_read_nonblocking(handle, buffer.data(), buffer.size(), 1);
      if (size <= 0) return;
      errors.append({buffer.data(), static_cast<std::size_t>(size)});
    }
  }

  bool lost() const { return ssh_is_connected(session->handle()) == 0; }
  bool ended() const { return lost() || ssh_channel_is_closed(handle) != 0; }

  // Another coroutine may wait for packets that this call has read.
  void tell_others() {
    session->watch();
    session->wake();
  }

  // The output has ended; the exit status or signal usually follows at once. Waits for it, so that
  // a message can say why the stream has ended.
  awaitable<void> wait_for_ending() {
    if (!ending.empty() || ended()) co_return;
    patience.expires_after(kDrainDeadline);
    patience.async_wait([self = shared_from_this()](boost::system::error_code) {
      self->impatient = true;
      self->session->wake();
    });
    while (ending.empty() && !ended() && !impatient && !closed) co_await session->wait();
    patience.cancel();
  }

  void close() {
    if (std::exchange(closed, true)) return;
    patience.cancel();
    if (!lost()) {
      // The agent sees the end of its input and exits.
      ssh_channel_send_eof(handle);
      ssh_channel_close(handle);
      ssh_blocking_flush(session->handle(), 0);  // 0: does not block
    }
    if (end == ChannelEnd::kWholeSession) {
      session->close();
    } else {
      tell_others();
    }
  }

  std::shared_ptr<SshSession> session;
  ChannelEnd end;
  ssh_channel handle;
  ssh_channel_callbacks_struct callbacks{};
  asio::steady_timer patience;
  StderrTail errors;
  std::string ending;
  bool impatient = false;
  bool far_eof = false;     // libssh then no longer polls for packets
  bool far_closed = false;  // libssh says closed only when all output is read
  bool closed = false;
};

class ChannelStream final : public SshStream {
 public:
  explicit ChannelStream(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  ~ChannelStream() override { channel_->close(); }

  awaitable<std::string> read() override {
    // The stream may be destroyed while this coroutine waits; the channel may not.
    if (!unread_.empty()) co_return std::exchange(unread_, {});
    const std::shared_ptr<Channel> channel = channel_;
    std::string bytes(room_.next(), '\0');
    while (!channel->closed) {
      const int size = ssh_channel_read_nonblocking(channel->handle, bytes.data(),
                                                    static_cast<std::uint32_t>(bytes.size()), 0);
      channel->drain_errors();
      channel->tell_others();
      if (size > 0) {
        room_.filled(static_cast<std::size_t>(size));
        bytes.resize(static_cast<std::size_t>(size));
        co_return bytes;
      }
      if (channel->lost()) throw connection_lost();
      if (size == SSH_EOF || ssh_channel_is_eof(channel->handle) != 0 || channel->ended()) {
        co_await channel->wait_for_ending();
        co_return std::string();
      }
      if (size == SSH_ERROR) {
        throw Error(Exit::kUnreachable, "cannot read", channel->session->error_text());
      }
      co_await channel->session->wait();
    }
    co_return std::string();
  }

  // In the largest possible packets, because each is encrypted separately.
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    const std::shared_ptr<Channel> channel = channel_;
    const std::string bytes = pieces.size() == 1 ? std::move(pieces[0]) : join(pieces, "");
    for (std::size_t sent = 0; sent < bytes.size();) {
      if (channel->closed) throw Error(Exit::kIo, "cannot write", "the stream is closed");
      if (channel->lost()) throw connection_lost();
      if (channel->far_closed || channel->ended()) throw far_end_has_ended();
      // The window: how much the far end accepts now.
      const std::size_t window = ssh_channel_window_size(channel->handle);
      const bool full = (ssh_get_status(channel->session->handle()) & SSH_WRITE_PENDING) != 0;
      if (full || window == 0) {
        channel->session->watch();
        co_await channel->session->wait();
        continue;
      }
      const std::size_t size = std::min({kWriteBytes, window, bytes.size() - sent});
      const int taken =
          ssh_channel_write(channel->handle, bytes.data() + sent, static_cast<std::uint32_t>(size));
      channel->tell_others();
      // The call also reads packets, so it may learn of the end before it writes.
      if (taken == SSH_ERROR) throw channel->lost() ? connection_lost() : far_end_has_ended();
      if (taken > 0) sent += static_cast<std::size_t>(taken);
    }
  }

  void close() override { channel_->close(); }
  void unread(std::string bytes) override { unread_ = std::move(bytes); }
  std::string standard_error() const override {
    if (!channel_->closed) channel_->drain_errors();
    return channel_->errors.text();
  }
  std::string ending() const override {
    if (!channel_->ending.empty()) return channel_->ending;
    // If we have closed the stream, the connection is not lost.
    return !channel_->closed && channel_->lost() ? std::string(kConnectionLost) : "";
  }

 private:
  static Error far_end_has_ended() {
    return Error(Exit::kIo, "cannot write", "the far end has ended");
  }
  Error connection_lost() const {
    return Error(Exit::kUnreachable, "connection lost", channel_->session->error_text());
  }

  std::shared_ptr<Channel> channel_;
  std::string unread_;
  ReadRoom room_{kReadBytes};
};

std::string too_late() {
  return "the server does not start the login shell";
}

}  // namespace

awaitable<std::unique_ptr<SshStream>> run_over_ssh(std::shared_ptr<SshSession> session,
                                                   std::string command, ChannelEnd end) {
  auto channel = std::make_shared<Channel>(session, end);
  ssh_channel handle = channel->handle;
  auto opening = session->finish([=] { return ssh_channel_open_session(handle); }, too_late);
  int result = co_await std::move(opening);
  // The login succeeded, so the user must look at the server.
  if (result != SSH_OK && session->alive()) {
    throw Error(Exit::kOs, "cannot start agent",
                fmt::format("logged in, but sshd opens no session: {}", session->error_text()),
                "sshd -T | grep -i maxsessions there, as root; it must be 1 or more");
  }
  if (result == SSH_OK) {
    auto executing = session->finish(
        [=] { return ssh_channel_request_exec(handle, command.c_str()); }, too_late);
    result = co_await std::move(executing);
  }
  if (result != SSH_OK) {
    throw Error(Exit::kOs, "cannot start agent", session->error_text());
  }
  // Weak: the session's handlers must not keep a channel without a stream alive.
  session->run([weak = std::weak_ptr<Channel>(channel)] {
    const std::shared_ptr<Channel> alive = weak.lock();
    return alive && !alive->closed && alive->process();
  });
  co_return std::make_unique<ChannelStream>(std::move(channel));
}

}  // namespace dtl
