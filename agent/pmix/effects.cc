#include "agent/pmix/effects.h"

#include <algorithm>

#include "wire/field_kinds.h"

namespace dtl::pmix {

std::vector<std::string> cut_into_parts(std::string data) {
  std::vector<std::string> parts;
  if (data.size() <= kMaxPmixBytes) {
    parts.push_back(std::move(data));
    return parts;
  }
  for (std::size_t at = 0; at < data.size(); at += kMaxPmixBytes) {
    parts.push_back(data.substr(at, kMaxPmixBytes));
  }
  return parts;
}

}  // namespace dtl::pmix
