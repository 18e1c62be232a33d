#pragma once
// What ssh_config(5) says: keywords that ssh obeys and libssh silently ignores, where they apply to
// a host that is used; and the hosts that it names. Pure; the caller reads the files.

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

// The names that Host lines give, without their patterns, in order; of included files, too.
std::vector<std::string> names_in_config(const ConfigText& config,
                                         const ReadIncluded& read_included);

}  // namespace dtl
