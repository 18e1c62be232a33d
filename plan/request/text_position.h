#pragma once
// TextPosition: where in the user's text something stands, and the errors that say so. A plain
// value; columns are 1-based and count bytes (what stands before an error is ASCII).

#include <cstddef>
#include <string>

#include "base/error.h"

namespace dtl {

struct TextPosition {
  std::string prefix;  // "hosts:3:", "-hosts: column "
  std::size_t column = 1;
  Exit status = Exit::kBadInput;

  std::string where() const { return prefix + std::to_string(column); }
  TextPosition at(std::size_t offset) const { return {prefix, column + offset, status}; }
  Error error(std::string reason, std::string hint = {}) const {
    return Error(status, where(), std::move(reason), std::move(hint));
  }
};

}  // namespace dtl
