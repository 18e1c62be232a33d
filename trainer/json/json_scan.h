#pragma once
// Finds where values begin and end in the bytes of a valid JSON text. Pure functions; `at` is the
// position of a value's first byte.

#include <cstddef>
#include <string_view>
#include <vector>

namespace dtl::trainer {

constexpr std::size_t kNoJson = std::string_view::npos;

std::size_t skip_json_space(std::string_view bytes, std::size_t at);
std::size_t end_of_json_value(std::string_view bytes, std::size_t at);

// A key as spelled in the file, without its quotes, and the position of its value.
struct JsonMember {
  std::string_view key;
  std::size_t value;
};
// The members of the object at `at`, in file order.
std::vector<JsonMember> json_members(std::string_view bytes, std::size_t at);
// The position of a key's value in the object at `at`; kNoJson if the object lacks the key.
std::size_t find_json_value(std::string_view bytes, std::size_t at, std::string_view key);

}  // namespace dtl::trainer
