#include "launcher/subcommands.h"

#include <algorithm>
#include <vector>

namespace dtl {

std::span<const Subcommand> subcommand_table() {
  static const std::vector<Subcommand> kTable = {};
  return kTable;
}

bool is_subcommand(std::string_view word) {
  const auto table = subcommand_table();
  return std::any_of(table.begin(), table.end(),
                     [&](const Subcommand& subcommand) { return subcommand.name == word; });
}

}  // namespace dtl
