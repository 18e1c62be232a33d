// execve(2) would fail with E2BIG node by node; this rejects the whole job instead.
#include "plan/job_limits.h"

#include <fmt/format.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/request/command_text.h"

namespace dtl {

void check_sizes(const RankPlan& rank) {
  const auto bytes = [](const std::vector<std::string>& strings) {
    std::size_t total = 0;
    // + 1: the kernel also counts the NUL.
    for (const std::string& text : strings) total += text.size() + 1;
    return total;
  };
  for (const std::string& argument : rank.arguments) {
    // MAX_ARG_STRLEN includes the NUL, hence < and not <=.
    if (argument.size() < kMaxArgumentBytes) continue;
    throw option_error(fmt::format("argument '{}...'", printable(argument.substr(0, 32))),
                       fmt::format("{} bytes are more than a program can be given ({})",
                                   argument.size(), kMaxArgumentBytes - 1),
                       "a file with the text, and its name as the argument");
  }
  for (const std::string& variable : rank.environment) {
    if (variable.size() < kMaxArgumentBytes) continue;
    const std::string name = variable.substr(0, variable.find('='));
    throw option_error(name,
                       fmt::format("{} bytes are more than a program can be given ({})",
                                   variable.size(), kMaxArgumentBytes - 1),
                       fmt::format("unset {}", name));
  }
  const std::size_t environment = bytes(rank.environment);
  if (environment > kMaxEnvironmentBytes) {
    throw option_error("environment of the ranks",
                       fmt::format("{} bytes are more than {}", environment, kMaxEnvironmentBytes),
                       "-genvlist NAME,NAME");
  }
}

void check_descriptors(const std::string& name, const Host* host, std::size_t ranks,
                       std::uint32_t most) {
  const std::size_t needed = kAgentDescriptors + kRankDescriptors * ranks;
  if (most == 0 || needed <= most) return;
  // Shows the hard limit: the agent raises its soft limit to that.
  const std::string look = limit_command(EMFILE);
  throw Error(Exit::kOs, fmt::format("{}: cannot start {}", name, plural(ranks, "rank")),
              fmt::format("its agent needs {} descriptors, and may have {}", needed, most),
              host == nullptr ? look : command_on(*host, look));
}

}  // namespace dtl
