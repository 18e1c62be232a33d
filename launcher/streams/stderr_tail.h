#pragma once
// StderrTail: the end of a process's standard error, made printable line by line for the user's
// terminal. Bounded, because a launcher keeps one for each host.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"

namespace dtl {

class StderrTail {
 public:
  static constexpr std::size_t kBytes = 16 << 10;  // more than any message, little for 1,000 hosts

  void append(std::string_view bytes) {
    text_.append(bytes);
    // Only at twice the size, so that not every append moves the rest.
    if (text_.size() > 2 * kBytes) text_.erase(0, text_.size() - kBytes);
  }
  std::string text() const {
    const std::string_view all = text_;
    return printable_lines(all.size() > kBytes ? all.substr(all.size() - kBytes) : all);
  }

 private:
  std::string text_;
};

}  // namespace dtl
