#pragma once
// Steps through the bytes of a JSON text that is known to be one: where values begin and end. Pure
// functions; `at` is the place of a value's first byte.

#include <cstddef>
#include <string_view>
#include <vector>

namespace dtl::trainer {

constexpr std::size_t kNoJson = std::string_view::npos;

std::size_t skip_json_space(std::string_view bytes, std::size_t at);
std::size_t end_of_json_value(std::string_view bytes, std::size_t at);

// A key as it is written, without its quotes, and where its value begins.
struct JsonMember {
  std::string_view key;
  std::size_t value;
};
// Of the object at `at`, in its order.
std::vector<JsonMember> json_members(std::string_view bytes, std::size_t at);
// Where the value of a key of the object at `at` begins; kNoJson where it has no such key.
std::size_t find_json_value(std::string_view bytes, std::size_t at, std::string_view key);

}  // namespace dtl::trainer
