#pragma once
// Keywords of ssh_config(5) that ssh obeys and libssh silently ignores, where they apply to a host
// that is used. Pure; the caller reads the files.

#include <functional>
#include <string>
#include <vector>

namespace dtl {

struct ConfigText {
  std::string path, text;
};

struct IgnoredKeyword {
  std::string where;    // "/root/.ssh/config:3"
  std::string keyword;  // "HostKeyAlias"
  std::string effect;   // what that means, and what to do instead
};

// The files that an Include names, relative to the including one.
using ReadIncluded =
    std::function<std::vector<ConfigText>(const std::string& pattern, const std::string& from)>;

// `host` is the name that ssh would be given.
std::vector<IgnoredKeyword> ignored_keywords(const ConfigText& config, const std::string& host,
                                             const ReadIncluded& read_included);

}  // namespace dtl
