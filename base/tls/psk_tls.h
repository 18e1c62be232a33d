#pragma once
// PskTls: TLS 1.3 between two ends that share only a key: an external pre-shared key with an
// ephemeral exchange (psk_dhe_ke), so someone who learns the key later cannot decrypt recorded
// traffic. No certificates, no tickets, one cipher; without the key nobody can connect. A
// TlsCarrier moves the records: libdtring's is a socket, the launcher's is memory. Only this file's
// source uses libssl. One thread at a time. Failures are values; OpenSSL's error queue is left
// empty.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/library.h"

// Declared here, so that OpenSSL's headers stay in psk_tls.cc.
struct ssl_st;

namespace dtl {

class TlsCarrier {
 public:
  static constexpr int kLater = -1, kBroken = -2;
  // The number of bytes moved, or one of the above; read: 0 at the end.
  virtual int read(char* data, int bytes) = 0;
  virtual int write(const char* data, int bytes) = 0;
  bool has_ended = false;  // a read has reached the end

 protected:
  ~TlsCarrier() = default;
};

class PskTls {
 public:
  enum class End { kClient, kServer };
  enum class Result { kDone, kAgain, kClosed, kFailed };
  using Key = std::span<const std::uint8_t, 32>;

  // For programs that alone use their OpenSSL, before its first other use: prepares the shared
  // context, which takes 1 ms, and nothing that this end does not need.
  static void prepare_program(End end);

  // identity: names the key, in clear text; identity and carrier outlive this. The key is copied,
  // and wiped after the handshake. read_ahead: how many bytes to request from the carrier at once;
  // 0: only the current record.
  PskTls(End end, std::string_view identity, Key key, TlsCarrier& carrier,
         std::size_t read_ahead = 0);
  ~PskTls();
  PskTls(const PskTls&) = delete;
  PskTls& operator=(const PskTls&) = delete;

  // False: OpenSSL refused the setup; then only call reason().
  bool is_ready() const { return ssl_ != nullptr; }
  const std::string& reason() const { return reason_; }  // of the last failure, in OpenSSL's words
  bool is_alert() const { return is_alert_; }            // the other end sent an alert

  // kDone: the other end has proved that it knows the key.
  Result shake_hands();
  // As much as the carrier allows; repeat the call with the bytes not taken, unchanged.
  Result read(std::span<std::byte> room, std::size_t& taken);
  Result write(std::span<const std::byte> plain, std::size_t& taken);
  bool has_pending() const;  // received bytes have not been read
  void renew_key();          // for later writes

 private:
  friend struct PskTlsCalls;  // OpenSSL's callbacks
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  Result result_of(int answer);

  std::string_view identity_;
  std::array<std::uint8_t, 32> key_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string reason_;
  bool is_alert_ = false;
};

Library tls_library();  // OpenSSL's, for --version -v

}  // namespace dtl
