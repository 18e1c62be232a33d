#include "ring/common/descriptors.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/error.h"
#include "base/fd.h"
#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// For files that the program opens later, callers that have not proved themselves yet, and epoll.
constexpr std::size_t kSpare = 64;

}  // namespace

void provide_descriptors(std::size_t more, const std::string& attempted) {
  // Two communicators that are created at the same time must not undo each other's limit.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const DescriptorUse use = descriptor_use();
  const std::size_t needed = use.open + more;
  if (needed > use.hard) {
    throw CommError(DT_E_SYS, attempted,
                    fmt::format("this process needs {} descriptors, its soft limit is {}, its hard "
                                "limit {}",
                                needed, use.soft, use.hard),
                    limit_command(EMFILE));
  }
  if (needed + kSpare <= use.soft) return;
  const rlimit limit{std::min(needed + kSpare, use.hard), use.hard};
  // A refusal shows when a descriptor is missing, with its reason.
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace dtl::ring
