#include "launcher/ssh/known_hosts_sources.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/find_program.h"
#include "base/text.h"
#include "launcher/streams/command_output.h"

namespace dtl {
namespace {

constexpr int kSshPort = 22;
// "Match exec" runs the user's commands. A login waits at most this long for them.
constexpr std::chrono::seconds kSshPatience{5};
constexpr std::size_t kMostBytes = 1U << 20;  // of ssh's or the command's output

constexpr const char* kConfigFolder = "/etc/ssh/ssh_config.d";
constexpr std::array<std::string_view, 4> kAboutSources = {
    "hostkeyalias", "userknownhostsfile", "globalknownhostsfile", "knownhostscommand"};

using Tokens = std::map<char, std::string>;

// A line of ssh_config(5). Follows Debian's own Include, but no other.
bool is_about_sources(const std::string& line) {
  const std::string text = to_lower(trim(line));
  const std::size_t end = std::min(text.find_first_of(" \t="), text.size());
  const std::string keyword = text.substr(0, end);
  if (keyword == "include") {
    return trim(text.substr(end)) != std::string(kConfigFolder) + "/*.conf";
  }
  return std::find(kAboutSources.begin(), kAboutSources.end(), keyword) != kAboutSources.end();
}

// nullopt: the text has a token that we cannot expand, or an unset variable.
std::optional<std::string> expand(std::string_view text, const Tokens& tokens) {
  std::string expanded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) {
      const std::size_t end = text.find('}', i);
      if (end == text.npos) return std::nullopt;
      const char* value = std::getenv(std::string(text.substr(i + 2, end - i - 2)).c_str());
      if (value == nullptr) return std::nullopt;
      expanded += value;
      i = end;
    } else if (text[i] == '%' && i + 1 < text.size()) {
      const auto token = tokens.find(text[++i]);
      if (token == tokens.end()) return std::nullopt;
      expanded += token->second;
    } else {
      expanded += text[i];
    }
  }
  return expanded;
}

std::string after_tilde(const std::string& path, const std::string& home) {
  return path.starts_with("~/") ? home + path.substr(1) : path;
}

// Splits words as OpenSSH's argv_split(): blanks separate them, quotes keep blanks, a backslash
// quotes a quote, itself and, outside quotes, a blank.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> words;
  bool within = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      within = false;
      continue;
    }
    if (!within) words.emplace_back();
    within = true;
    if (c == '\\' && i + 1 < text.size() &&
        (text[i + 1] == '\'' || text[i + 1] == '"' || text[i + 1] == '\\' ||
         (quote == 0 && text[i + 1] == ' '))) {
      words.back() += text[++i];
    } else if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string local_user() {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? "" : found->pw_name;
}

Tokens tokens_of(const SshSettings& settings, const std::string& alias) {
  return {{'%', "%"},
          {'d', settings.home},
          {'h', settings.key_name},
          {'i', std::to_string(::getuid())},
          {'k', alias.empty() ? settings.name : alias},
          {'n', settings.name},
          {'p', std::to_string(settings.port)},
          {'r', settings.user},
          {'u', local_user()}};
}

class Reader {
 public:
  Reader(const SshSettings& settings, const ShownKey& shown) : settings_(settings), shown_(shown) {}

  KnownHostsSources read(std::string_view text) {
    std::map<std::string, std::string> values;
    for (const std::string& line : split(text, '\n')) {
      const std::size_t blank = line.find(' ');
      if (blank != line.npos) values.emplace(line.substr(0, blank), line.substr(blank + 1));
    }
    sources_.alias = values["hostkeyalias"];
    tokens_ = tokens_of(settings_, sources_.alias);
    add_files("UserKnownHostsFile", values["userknownhostsfile"]);
    if (!sources_.files.empty()) sources_.new_keys = sources_.files[0];
    add_files("GlobalKnownHostsFile", values["globalknownhostsfile"]);
    add_command(values["knownhostscommand"]);
    return std::move(sources_);
  }

 private:
  // `ssh -G` prints a list's words without quotes, so a path with a blank looks like two paths:
  // tries both readings, and a missing file has no keys.
  void add_files(const std::string& keyword, const std::string& value) {
    std::vector<std::string> paths = split(value, ' ');
    if (paths.size() > 1) paths.push_back(value);
    for (const std::string& path : paths) {
      if (path.empty() || path == "none") continue;
      // Some versions of ssh print the path as written, others expanded.
      if (::access(path.c_str(), F_OK) == 0) {
        sources_.files.push_back(path);
      } else if (const auto expanded = expand(after_tilde(path, settings_.home), tokens_)) {
        sources_.files.push_back(*expanded);
      } else {
        leave_out(keyword, path);
      }
    }
  }

  void add_command(const std::string& value) {
    if (value.empty() || value == "none") return;
    const std::vector<std::string> names = known_names(settings_, sources_.alias);
    tokens_.insert({{'H', names[0]},
                    {'I', "HOSTNAME"},
                    {'K', shown_.base64},
                    {'t', shown_.type},
                    {'f', shown_.fingerprint}});
    for (const std::string& word : split_arguments(value)) {
      const auto expanded = expand(word, tokens_);
      if (!expanded) {
        sources_.command.clear();
        leave_out("KnownHostsCommand", value);
        return;
      }
      sources_.command.push_back(*expanded);
    }
  }

  void leave_out(const std::string& keyword, const std::string& value) {
    sources_.left_out.push_back(
        fmt::format("{} {} (it has a token that dtlaunch cannot fill in)", keyword, value));
  }

  const SshSettings& settings_;
  const ShownKey& shown_;
  KnownHostsSources sources_;
  Tokens tokens_;
};

}  // namespace

std::vector<std::string> known_names(const SshSettings& settings, const std::string& alias) {
  if (!alias.empty()) return {to_lower(alias)};  // whatever the port
  std::vector<std::string> names;
  const auto add = [&](const std::string& as_typed) {
    const std::string name = to_lower(as_typed);  // ssh hashes the lower-case name
    if (settings.port != kSshPort) names.push_back(fmt::format("[{}]:{}", name, settings.port));
    names.push_back(name);
  };
  add(settings.key_name);
  if (settings.address != settings.key_name) add(settings.address);
  return names;
}

KnownHostsSources parse_sources(std::string_view text, const SshSettings& settings,
                                const ShownKey& shown) {
  return Reader(settings, shown).read(text);
}

KnownHostsSources usual_sources(const std::string& home) {
  KnownHostsSources sources;
  sources.files = {home + "/.ssh/known_hosts", home + "/.ssh/known_hosts2",
                   "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  sources.new_keys = sources.files[0];
  return sources;
}

bool may_name_other_sources(const std::string& home) {
  std::error_code failed;
  std::vector<std::string> files = {home + "/.ssh/config", "/etc/ssh/ssh_config"};
  for (const auto& entry : std::filesystem::directory_iterator(kConfigFolder, failed)) {
    if (entry.path().extension() == ".conf") files.push_back(entry.path().string());
  }
  return std::any_of(files.begin(), files.end(), [](const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (is_about_sources(line)) return true;
    }
    return false;
  });
}

std::optional<std::string> ask_ssh(const SshSettings& settings) {
  const char* path = std::getenv("PATH");
  const auto ssh = find_program("ssh", path == nullptr ? "" : path);
  if (!ssh) return std::nullopt;
  std::vector<std::string> arguments{*ssh, "-G"};
  const Host& host = settings.host;
  if (host.port != 0) arguments.insert(arguments.end(), {"-p", std::to_string(host.port)});
  if (!host.user.empty()) arguments.insert(arguments.end(), {"-l", host.user});
  arguments.insert(arguments.end(), {"--", host.name});
  return read_command({.arguments = arguments,
                       .name = "ssh -G " + host.name,
                       .hint = "that command in a shell",
                       .patience = kSshPatience,
                       .most_bytes = kMostBytes});
}

std::string run_known_hosts_command(const KnownHostsSources& sources) {
  if (sources.command.empty()) return {};
  return read_command({.arguments = sources.command,
                       .name = "KnownHostsCommand " + sources.command[0],
                       .hint = "lines of known_hosts",
                       .patience = kSshPatience,
                       .most_bytes = kMostBytes});
}

}  // namespace dtl
