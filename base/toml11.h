#pragma once
// toml11 3 and 4 behind one set of names, only for toml_file.cc: no other file includes toml11.
// Debian 12 has version 3, Debian 13 version 4. Their messages and some of their line numbers
// differ; toml11.cc makes them equal.

#include <cstddef>
#include <map>
#include <string>
#include <toml.hpp>
#include <vector>

namespace dtl {

#if TOML11_VERSION_MAJOR >= 4
// Numbers that do not fit are clamped, as in toml11 3.
struct TomlTypes : toml::type_config {
  using comment_type = toml::discard_comments;
  template <class Key, class Value>
  using table_type = std::map<Key, Value>;
  static toml::result<integer_type, toml::error_info> parse_int(const std::string& digits,
                                                                toml::source_location place,
                                                                std::uint8_t base);
  static toml::result<floating_type, toml::error_info> parse_float(const std::string& digits,
                                                                   toml::source_location place,
                                                                   bool is_hex);
};
using TomlValue = toml::basic_value<TomlTypes>;
#else
using TomlValue = toml::basic_value<toml::discard_comments, std::map, std::vector>;
#endif

struct TomlPlace {
  std::size_t line, column;  // from 1
};
TomlPlace place_of(const TomlValue& value);

// Of a value that is a string.
const std::string& text_of(const TomlValue& value);

// Throws Error(kBadInput) "FILE:LINE: reason, in 'line'", with the same words for every toml11.
TomlValue parse_toml(const std::string& text, const std::string& path_for_messages);

}  // namespace dtl
