#pragma once
// TextPosition: a place in the user's text, and errors that name it. A plain value. Columns are
// 1-based and count bytes: all text before an error on a line is ASCII.

#include <cstddef>
#include <string>

#include "base/error.h"

namespace dtl {

struct TextPosition {
  std::string prefix;  // "hosts:3:", "-hosts: column "
  std::size_t column = 1;
  Exit status = Exit::kBadInput;

  // "hosts:3:7", the format of compilers: editors jump there.
  std::string where() const { return prefix + std::to_string(column); }
  TextPosition at(std::size_t offset) const { return {prefix, column + offset, status}; }
  Error error(std::string reason, std::string hint = {}) const {
    // Each form has a manual page or an example; a specific hint says more.
    if (hint.empty()) {
      hint = status == Exit::kUsage ? "-hosts node01,node02:2" : "dtlaunch help hostfile";
    }
    return Error(status, where(), std::move(reason), std::move(hint));
  }
};

}  // namespace dtl
