#pragma once
// Hosts for tests that only need names.

#include <string>
#include <vector>

#include "plan/request/host.h"

namespace dtl::named_hosts {

inline std::vector<Host> hosts(const std::vector<std::string>& names) {
  std::vector<Host> all;
  for (const std::string& name : names) all.emplace_back().name = name;
  return all;
}

inline std::vector<std::string> names(const std::vector<Host>& all) {
  std::vector<std::string> texts;
  for (const Host& host : all) texts.push_back(host.name);
  return texts;
}

}  // namespace dtl::named_hosts
