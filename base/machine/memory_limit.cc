// Reads only RLIMIT_AS. Exceeding other limits ends a process, or limit_command() shows them.
#include "base/machine/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace dtl {
namespace {

// 0: another kind of exception.
int number_of(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) return ENOMEM;
  const auto* call = dynamic_cast<const std::system_error*>(&failure);
  const int number = call == nullptr ? 0 : call->code().value();
  return number == ENOMEM || number == EAGAIN ? number : 0;  // EAGAIN: no thread
}

}  // namespace

std::optional<Error> resource_error(const std::exception& failure) {
  const int number = number_of(failure);
  if (number == 0) return std::nullopt;
  const std::string reason = errno_text(number);
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return Error(Exit::kOs, "cannot go on", reason, limit_command(number));
  }
  return Error(Exit::kOs, "cannot go on",
               fmt::format("{}; its address space is limited to {} KiB (ulimit -v)", reason,
                           limit.rlim_cur / 1024),
               "ulimit -v unlimited before it starts, or a higher limit where the login sets one");
}

}  // namespace dtl
