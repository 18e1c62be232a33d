#pragma once
// PskTls: TLS 1.3 between two ends that share a key and nothing else: an external pre-shared key
// with an ephemeral exchange (psk_dhe_ke), so someone who learns the key later cannot decrypt
// recorded traffic. There are no certificates and no tickets, one cipher, and nobody is let in
// without the key. A TlsCarrier moves the records: libdtring's is a socket, the launcher's is
// memory. OpenSSL's libssl has its one home here. One thread at a time. Failures are values;
// OpenSSL's list of errors is left empty.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/library.h"

// OpenSSL's, by name alone: its headers stay in psk_tls.cc.
struct ssl_st;

namespace dtl {

class TlsCarrier {
 public:
  static constexpr int kLater = -1, kBroken = -2;
  // How many bytes were moved, or one of the above; read: 0 at the end.
  virtual int read(char* data, int bytes) = 0;
  virtual int write(const char* data, int bytes) = 0;
  bool has_ended = false;  // a read has met the end

 protected:
  ~TlsCarrier() = default;
};

class PskTls {
 public:
  enum class End { kClient, kServer };
  enum class Result { kDone, kAgain, kClosed, kFailed };
  using Key = std::span<const std::uint8_t, 32>;

  // For programs whose OpenSSL is theirs alone, before they ask anything else of it: prepares what
  // all connections share, which takes 1 ms, and as little else as that end needs.
  static void prepare_program(End end);

  // identity: names the key, in clear, and outlives this as the carrier does. The key is copied,
  // and wiped after the handshake. read_ahead: how many bytes to ask the carrier for at once; 0:
  // no more than the record has.
  PskTls(End end, std::string_view identity, Key key, TlsCarrier& carrier,
         std::size_t read_ahead = 0);
  ~PskTls();
  PskTls(const PskTls&) = delete;
  PskTls& operator=(const PskTls&) = delete;

  // False: OpenSSL refused to set it up, and nothing below but reason() may be called.
  bool is_ready() const { return ssl_ != nullptr; }
  const std::string& reason() const { return reason_; }  // of the last failure, in OpenSSL's words
  bool is_alert() const { return is_alert_; }            // the other end said so

  // kDone: the other end has proved that it knows the key.
  Result shake_hands();
  // As far as the carrier allows; what was not taken comes again next time, as it was.
  Result read(std::span<std::byte> room, std::size_t& taken);
  Result write(std::span<const std::byte> plain, std::size_t& taken);
  bool has_pending() const;  // some of what the carrier brought has not been read
  void renew_key();          // of what is written from now on

 private:
  friend struct PskTlsCalls;  // what OpenSSL calls
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
