#include "trainer/job/one_architecture.h"

#include <elf.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kArchitectureTag = 0xFFFF0070;

std::string name_of(std::uint64_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "arm64";
    default:
      return fmt::format("machine number {}", machine);
  }
}

}  // namespace

std::uint64_t own_architecture() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

void require_one_architecture(Ranks& group, std::uint64_t own) {
  const std::vector<std::uint64_t> all = group.gather(own, kArchitectureTag);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    group.leave_it_to_first();
    throw Error(Exit::kConfig, fmt::format("ranks 0 and {}", rank),
                fmt::format("run on {} and {}, whose results differ in the last bits",
                            name_of(all[0]), name_of(all[rank])),
                "hosts of one architecture");
  }
}

}  // namespace dtl::trainer
