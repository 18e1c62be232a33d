#include "launcher/options/subcommands.h"

#include <algorithm>
#include <vector>

namespace dtl {

std::span<const Subcommand> subcommand_table() {
  static const std::vector<Subcommand> kTable = {
      {"doctor", "say what would keep a job from starting, and the fix"},
      {"push", "bring dtagent and dttrain to hosts ahead of time"},
      {"ps", "list the jobs of this machine or of hosts"},
      {"logs", "show the kept output of a job started with --detach"},
      {"attach", "show its output as it comes; has its exit status"},
      {"kill", "end a job in order, or send it a signal"},
      {"clean", "end what dead jobs left behind, and remove their files"},
      {"up", "keep a connection to each host open, for faster starts"},
      {"down", "close them"},
      {"kube", "render: print a manifest for Kubernetes"},
  };
  return kTable;
}

bool is_subcommand(std::string_view word) {
  const auto table = subcommand_table();
  return std::any_of(table.begin(), table.end(),
                     [&](const Subcommand& subcommand) { return subcommand.name == word; });
}

}  // namespace dtl
