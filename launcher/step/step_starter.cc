// Lists of variables as execve(2) takes them.
#include "launcher/step/step_starter.h"

namespace dtl {

std::vector<std::string> entries_of(const Variables& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) {
    if (name != "DTL_TOKEN") entries.push_back(name + "=" + value);
  }
  return entries;
}

}  // namespace dtl
