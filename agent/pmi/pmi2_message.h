#pragma once
// PMI-2's wire format. After an init that is a line of PMI-1, both sides send messages: six
// characters with a decimal length, then so many bytes of "cmd=kvs-put;key=k;value=v;". A ';'
// inside a value is written twice. It does not know what commands mean.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/pmi/pmi_line.h"

namespace dtl {

// As its libraries have it.
constexpr std::size_t kMaxPmi2Message = 64 << 10;
constexpr std::size_t kPmi2LengthBytes = 6;

using PmiAttributes = std::vector<std::pair<std::string, std::string>>;

// Without its length. A command without a name is the answer to what is not PMI-2.
PmiCommand parse_pmi2_message(std::string_view body);

// With its length.
std::string pmi2_message(std::string_view name, const PmiAttributes& attributes);

}  // namespace dtl
