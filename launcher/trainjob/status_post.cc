// The only client of TLS with certificates. Its thread blocks all signals, so a lost connection
// raises no SIGPIPE.
#include "launcher/trainjob/status_post.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "launcher/ssh/resolve.h"
#include "wire/asio.h"
#include "wire/connect/tcp_connect.h"

namespace dtl {
namespace {

using PostClock = std::chrono::steady_clock;

constexpr std::size_t kMostOfToken = 64 << 10;
constexpr std::size_t kMostOfHead = 8 << 10;  // of the answer; anybody may have written it

Error post_error(std::string reason) {
  return Error(Exit::kIo, "cannot post the status", std::move(reason));
}

// Wiped before its memory is used again.
class SecretText {
 public:
  explicit SecretText(std::string text) : text_(std::move(text)) {}
  ~SecretText() { ::explicit_bzero(text_.data(), text_.size()); }
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  std::string_view get() const { return text_; }

 private:
  std::string text_;
};

std::string read_token(const std::string& path) {
  std::string text;
  try {
    text = read_regular_file(path, kMostOfToken);
  } catch (const Error& error) {
    // The reason has no path, which could be the token by mistake.
    throw post_error(fmt::format("{} names a file that cannot be read: {}", kStatusToken,
                                 error.number() != 0 ? errno_text(error.number()) : "not a file"));
  }
  return text;
}

// ---- the connection

awaitable<void> open_connection(asio::io_context& context, std::string host, int port,
                                PostClock::time_point deadline, Fd& connected) {
  auto endpoints = co_await resolve(context, std::move(host), port, deadline);
  connected = co_await connect_first(context, std::move(endpoints), deadline);
}

Fd connect_to(const StatusServer& server, PostClock::time_point deadline) {
  asio::io_context context;
  Fd connected;
  std::exception_ptr problem;
  asio::co_spawn(context, open_connection(context, server.host, server.port, deadline, connected),
                 [&](std::exception_ptr failure) { problem = std::move(failure); });
  context.run();
  if (problem) std::rethrow_exception(problem);
  return connected;
}

struct FreeContext {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};
struct FreeConnection {
  void operator()(SSL* ssl) const { ::SSL_free(ssl); }
};
using ClientContext = std::unique_ptr<SSL_CTX, FreeContext>;
using ClientTls = std::unique_ptr<SSL, FreeConnection>;

std::string openssl_reason() {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  ::ERR_clear_error();
  return reason == nullptr ? "the connection was closed" : reason;
}

ClientContext trusting(const std::string& ca_file) {
  // What a user's openssl.cnf says about TLS is not for this connection.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  ClientContext context(::SSL_CTX_new(::TLS_client_method()));
  if (!context || ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    throw post_error("TLS: " + openssl_reason());
  }
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    ::SSL_CTX_set_default_verify_paths(context.get());
    return context;
  }
  try {
    open_regular_file(ca_file);  // opening a pipe would block
  } catch (const Error& error) {
    throw post_error(fmt::format("{} names a file that cannot be read: {}", kStatusCa,
                                 error.number() != 0 ? errno_text(error.number()) : "not a file"));
  }
  if (::SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr) != 1) {
    throw post_error(
        fmt::format("{} names a file without certificates: {}", kStatusCa, openssl_reason()));
  }
  return context;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// TLS if the server has it, else the socket's bytes. Every wait ends at the deadline.
class PostChannel {
 public:
  PostChannel(const StatusServer& server, PostClock::time_point deadline)
      : deadline_(deadline), context_(server.tls ? trusting(server.ca_file) : nullptr) {
    socket_ = connect_to(server, deadline);
    if (context_) shake_hands(server.host);
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), 16 << 10));
      bytes.remove_prefix(move(
          [&] {
            return tls_ ? ::SSL_write(tls_.get(), bytes.data(), size)
                        : static_cast<int>(::send(socket_.get(), bytes.data(),
                                                  static_cast<std::size_t>(size), MSG_NOSIGNAL));
          },
          POLLOUT));
    }
  }

  // 0: the end.
  std::size_t read(char* room, int size) {
    return move(
        [&] {
          return tls_ ? ::SSL_read(tls_.get(), room, size)
                      : static_cast<int>(
                            ::recv(socket_.get(), room, static_cast<std::size_t>(size), 0));
        },
        POLLIN);
  }

  // Says that nothing was cut off; an answer does not matter.
  void close() {
    if (tls_) ::SSL_shutdown(tls_.get());
    ::ERR_clear_error();
  }

 private:
  void shake_hands(const std::string& host) {
    tls_.reset(::SSL_new(context_.get()));
    if (!tls_ || ::SSL_set_fd(tls_.get(), socket_.get()) != 1) {
      throw post_error("TLS: " + openssl_reason());
    }
    const bool named =
        is_address(host)
            ? ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(tls_.get()), host.c_str()) == 1
            : ::SSL_set1_host(tls_.get(), host.c_str()) == 1 &&
                  SSL_set_tlsext_host_name(tls_.get(), host.c_str()) == 1;
    if (!named) throw post_error("TLS: " + openssl_reason());
    move([&] { return ::SSL_connect(tls_.get()); }, POLLOUT);
  }

  // Calls `step` until it has moved bytes; 0: the end. ready: what a plain socket waits for.
  template <class Step>
  std::size_t move(Step step, short ready) {
    for (;;) {
      ::ERR_clear_error();
      errno = 0;
      const int moved = step();
      if (moved > 0) return static_cast<std::size_t>(moved);
      if (!tls_) {
        if (moved == 0) return 0;
        if (errno != EAGAIN && errno != EINTR) throw post_error(errno_text(errno));
        wait(ready);
        continue;
      }
      switch (::SSL_get_error(tls_.get(), moved)) {
        case SSL_ERROR_WANT_READ:
          wait(POLLIN);
          break;
        case SSL_ERROR_WANT_WRITE:
          wait(POLLOUT);
          break;
        case SSL_ERROR_ZERO_RETURN:
          return 0;
        default:
          throw post_error(failure());
      }
    }
  }

  std::string failure() const {
    const int error = errno;
    const long verdict = ::SSL_get_verify_result(tls_.get());
    if (verdict != X509_V_OK) {
      return fmt::format("its certificate is refused: {}",
                         ::X509_verify_cert_error_string(verdict));
    }
    if (::ERR_peek_last_error() == 0 && error != 0) return errno_text(error);
    return "TLS: " + openssl_reason();
  }

  void wait(short events) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - PostClock::now());
    pollfd waited{socket_.get(), events, 0};
    if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) == 0) {
      throw post_error("no answer in time");
    }
  }

  const PostClock::time_point deadline_;
  const ClientContext context_;
  Fd socket_;
  ClientTls tls_;  // after the socket, which it uses
};

}  // namespace

void post_status(const StatusServer& server, const std::string& body,
                 std::chrono::steady_clock::time_point deadline) {
  const SecretText file(read_token(server.token_file));
  const std::string_view token = trim(file.get());
  if (!is_valid_token(token)) {
    throw post_error(fmt::format("{} names a file without a token", kStatusToken));
  }
  const SecretText request(status_request(server, token, body));
  PostChannel channel(server, deadline);
  channel.write(request.get());
  std::string head;
  std::array<char, 1024> room{};
  while (head.size() < kMostOfHead && head.find("\r\n\r\n") == std::string::npos) {
    const std::size_t count = channel.read(room.data(), static_cast<int>(room.size()));
    if (count == 0) break;
    head.append(room.data(), count);
  }
  const auto status = http_status(head);
  if (!status) throw post_error("the answer is not HTTP");
  if (*status < 200 || *status > 299) throw post_error(fmt::format("HTTP status {}", *status));
  channel.close();
}

}  // namespace dtl
