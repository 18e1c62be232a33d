#include "base/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace dtl {

Error::Error(Exit status, std::string attempted, std::string reason, std::string hint)
    : status_(status),
      attempted_(std::move(attempted)),
      reason_(std::move(reason)),
      hint_(std::move(hint)) {
  message_ = attempted_;
  const bool in_lines = reason_.starts_with('\n');  // a list, which the hint stands below
  if (!reason_.empty()) message_ += (in_lines ? ":" : ": ") + reason_;
  if (!hint_.empty()) message_ += (in_lines ? "\nTry: " : ". Try: ") + hint_;
}

Error Error::with_context(const std::string& context) const {
  return Error(status_, context + ": " + attempted_, reason_, hint_);
}

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

Error system_error(const std::string& attempted, Exit status) {
  return Error(status, attempted, errno_text(errno));
}

}  // namespace dtl
