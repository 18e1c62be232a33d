#pragma once
// SHA-256, as lower-case hexadecimal, of bytes that come in pieces. Programs only.

#include <memory>
#include <string>
#include <string_view>

#include "base/library.h"

struct SHA256state_st;

namespace dtl {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  std::string hex();  // once, at the end

 private:
  std::unique_ptr<SHA256state_st> state_;
};

std::string sha256_hex(std::string_view bytes);

Library crypto_library();  // OpenSSL's libcrypto, for --version -v

}  // namespace dtl
