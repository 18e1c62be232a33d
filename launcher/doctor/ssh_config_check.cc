// A small reader of ssh's own syntax. It need not be complete: a condition that it cannot judge
// counts as not met, so that a warning is missing rather than wrong.
#include "launcher/doctor/ssh_config_check.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"

namespace dtl {
namespace {

constexpr int kMaxIncludeDepth = 16;  // as ssh

struct Ignored {
  const char* keyword;
  const char* effect;
};

constexpr Ignored kIgnored[] = {
    {"CertificateFile", "user certificates are not used: authorise the plain key there"},
    {"IdentitiesOnly", "every key of ssh-agent is tried: keep few there, or name one host's key"},
    {"RevokedHostKeys", "mark such keys @revoked in known_hosts"},
    {"PKCS11Provider", "load the key into ssh-agent: ssh-add -s"},
    {"PreferredAuthentications", "public keys are used, nothing else"},
    {"AddressFamily", "every address of the name is tried: write addr= in the hostfile"},
    {"BindInterface", "write BindAddress instead"},
    {"VerifyHostKeyDNS", "add the key to known_hosts"},
    {"ControlPath", "dtlaunch opens a connection of its own"},
};

struct Line {
  std::string keyword, rest;
};

// "Keyword value" or "Keyword=value". The keyword is empty for comments and blank lines.
Line read_line(const std::string& raw) {
  const std::string text(trim(raw));
  if (text.empty() || text[0] == '#') return {};
  const std::size_t end = text.find_first_of(" \t=");
  Line line{text.substr(0, end), {}};
  if (end == std::string::npos) return line;
  const std::size_t value = text.find_first_not_of(" \t=", end);
  if (value != std::string::npos) line.rest = text.substr(value);
  return line;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    // ssh allows quotes around a word. Host names have no blanks, so removing the quotes is enough.
    std::erase(word, '"');
    words.push_back(word);
  }
  return words;
}

// A list of patterns as in Host. A matching pattern with ! excludes the host, whatever the others
// say.
bool any_matches(const std::vector<std::string>& patterns, const std::string& host) {
  bool found = false;
  for (const std::string& pattern : patterns) {
    const bool negated = pattern.starts_with('!');
    // fnmatch() also supports [a-z], which ssh does not. Host names do not use it.
    if (::fnmatch(pattern.c_str() + (negated ? 1 : 0), host.c_str(), 0) != 0) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

// Evaluates `Match all`, `host` and `originalhost`. Others, such as exec and user, need the state
// of a login, and count as not met.
bool match_applies(const std::vector<std::string>& words, const std::string& host) {
  if (words.size() == 1) return to_lower(words[0]) == "all";
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string condition = to_lower(words[i]);
    if (condition != "host" && condition != "originalhost") return false;
    if (!any_matches(split(words[i + 1], ','), host)) return false;
  }
  return !words.empty() && words.size() % 2 == 0;
}

class Scan {
 public:
  Scan(const std::string& host, const ReadIncluded& read_included)
      : host_(host), read_included_(read_included) {}

  // applies: whether the lines before the file's first Host or Match count.
  void read(const ConfigText& config, bool applies, int depth) {
    std::istringstream lines(config.text);
    int number = 0;
    for (std::string raw; std::getline(lines, raw);) {
      ++number;
      const Line line = read_line(raw);
      const std::string keyword = to_lower(line.keyword);
      if (keyword == "host") {
        applies = any_matches(words_of(line.rest), host_);
      } else if (keyword == "match") {
        // Each Host or Match line ends the section before it.
        applies = match_applies(words_of(line.rest), host_);
        // An Include inside a Host section applies only to those hosts.
      } else if (keyword == "include" && applies && depth < kMaxIncludeDepth) {
        for (const std::string& pattern : words_of(line.rest)) {
          for (const ConfigText& part : read_included_(pattern, config.path)) {
            read(part, true, depth + 1);
          }
        }
      } else if (applies) {
        note(keyword, to_lower(line.rest), fmt::format("{}:{}", config.path, number));
      }
    }
  }

  std::vector<IgnoredKeyword> found;

 private:
  void note(const std::string& keyword, const std::string& value, const std::string& where) {
    if (value == "no" || value == "none" || value == "any") return;  // what libssh does anyway
    for (const Ignored& each : kIgnored) {
      if (to_lower(each.keyword) == keyword) found.push_back({where, each.keyword, each.effect});
    }
  }

  const std::string& host_;
  const ReadIncluded& read_included_;
};

// Ignores sections: completion wants all names.
void add_names(const ConfigText& config, const ReadIncluded& read_included, int depth,
               std::vector<std::string>& names) {
  std::istringstream lines(config.text);
  for (std::string raw; std::getline(lines, raw);) {
    const Line line = read_line(raw);
    const std::string keyword = to_lower(line.keyword);
    for (const std::string& word : words_of(line.rest)) {
      if (keyword == "host" && word.find_first_of("*?!") == word.npos) names.push_back(word);
      if (keyword != "include" || depth >= kMaxIncludeDepth) continue;
      for (const ConfigText& part : read_included(word, config.path)) {
        add_names(part, read_included, depth + 1, names);
      }
    }
  }
}

}  // namespace

std::vector<std::string> names_in_config(const ConfigText& config,
                                         const ReadIncluded& read_included) {
  std::vector<std::string> names;
  add_names(config, read_included, 0, names);
  return names;
}

std::vector<IgnoredKeyword> ignored_keywords(const ConfigText& config, const std::string& host,
                                             const ReadIncluded& read_included) {
  Scan scan(host, read_included);
  scan.read(config, true, 0);
  return std::move(scan.found);
}

}  // namespace dtl
