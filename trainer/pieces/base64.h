#pragma once
// Base64 (RFC 4648), in which JSON files keep bytes. Pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace dtl::trainer {

std::string encode_base64(std::string_view bytes);
// nullopt: not what encode_base64 writes, for example without its padding.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace dtl::trainer
