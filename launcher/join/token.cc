// The randomness of a text cannot be measured. Length and the number of different bytes detect
// tokens that people make up and type.
#include "launcher/join/token.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

// 128 bits in hexadecimal. base64 needs only 24 characters for that, but must have 32 (192 bits).
constexpr std::size_t kLeastTokenBytes = 32;
constexpr int kLeastDifferent = 8;  // bytes; a random one of 32 digits has 13 or so

}  // namespace

std::string parse_token(std::string_view text, const std::string& where) {
  std::string token(trim(text));
  std::string different = token;
  std::sort(different.begin(), different.end());
  const auto count = std::unique(different.begin(), different.end()) - different.begin();
  if (token.size() < kLeastTokenBytes || count < kLeastDifferent) {
    throw Error(Exit::kConfig, where + ": no token",
                token.empty()
                    ? std::string("it is empty")
                    : fmt::format("it can be guessed: {} of {} kinds",
                                  plural(static_cast<std::int64_t>(token.size()), "byte"), count),
                "32 random digits at least, as of: openssl rand -hex 32");
  }
  return token;
}

}  // namespace dtl
