// Hints about limits come from errno, so that no caller has to think of them.
#include "base/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace dtl {

// "ATTEMPTED: REASON. Try: HINT", the one form of every message.
Error::Error(Exit status, std::string attempted, std::string reason, std::string hint)
    : status_(status),
      attempted_(std::move(attempted)),
      reason_(std::move(reason)),
      hint_(std::move(hint)) {
  message_ = attempted_;
  const bool in_lines = reason_.starts_with('\n');  // a list, which the hint stands below
  if (!reason_.empty()) message_ += (in_lines ? ":" : ": ") + reason_;
  const bool asks = message_.ends_with('?');
  if (!hint_.empty()) message_ += (in_lines ? "\nTry: " : asks ? " Try: " : ". Try: ") + hint_;
}

Error Error::with_context(const std::string& context) const {
  Error error(status_, context + ": " + attempted_, reason_, hint_);
  error.number_ = number_;
  return error;
}

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

std::string limit_command(int error_number) {
  if (error_number == EMFILE) return "ulimit -Hn";
  if (error_number == EFBIG) return "ulimit -f";
  if (error_number == ENFILE) return "cat /proc/sys/fs/file-nr";
  if (error_number == EAGAIN) return "ulimit -u; ps -eLf | wc -l";
  if (error_number == ENOMEM) return "free -m; ulimit -v";
  return {};
}

Error system_error(const std::string& attempted, Exit status) {
  // Before anything else can change it.
  const int number = errno;
  // EAGAIN of other calls than fork has nothing to do with a limit.
  Error error(status, attempted, errno_text(number), number == EAGAIN ? "" : limit_command(number));
  error.number_ = number;
  return error;
}

}  // namespace dtl
