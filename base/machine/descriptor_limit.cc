// Only getrlimit(2), setrlimit(2) and a few stored numbers: some of this runs between fork and
// exec.
#include "base/machine/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace dtl {
namespace {

// Globals: a limit belongs to the whole process. A child between fork and exec reads them too.
bool g_raised = false;
rlim_t g_users = 0, g_own = 0;  // soft limits; when raised

void set_soft_limit(rlim_t soft) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  // The hard limit may have been lowered meanwhile.
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::uint32_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostDescriptors;
  return static_cast<std::uint32_t>(std::min<rlim_t>(limit.rlim_max, kMostDescriptors));
}

void raise_descriptor_limit(std::uint32_t most) {
  rlimit limit{};
  if (g_raised || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  g_users = limit.rlim_cur;
  // Never below the user's own limit, whatever `most` is.
  g_own = std::max(g_users, std::min<rlim_t>(limit.rlim_max, most));
  g_raised = true;
  set_soft_limit(g_own);
}

void restore_descriptor_limit() {
  if (g_raised) set_soft_limit(g_users);
}

UsersDescriptorLimit::UsersDescriptorLimit() {
  restore_descriptor_limit();
}

UsersDescriptorLimit::~UsersDescriptorLimit() {
  if (g_raised) set_soft_limit(g_own);
}

}  // namespace dtl
