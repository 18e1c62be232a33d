// Masks secrets in text by names, without knowing the programs' options. For options, whole words
// count, as --tokenizer_name is common; for variables, any part does (looks_secret()). Commands for
// a host come from its HostAccess.
#include "plan/request/command_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

constexpr const char* kMask = "***";
constexpr std::string_view kBlanks = " \t\n";
// A shorter "secret" would mask ordinary words and digits equal to it.
constexpr std::size_t kShortestSecret = 6;

// Whole words count, or --tokenizer_name would hide its value.
bool is_secret_option(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '-', '_');
  const std::vector<std::string> parts = split(to_lower(words), '_');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part == "token" || part == "secret" || part == "password" || part == "passwd" ||
           part == "passphrase" || part == "apikey" || part == "credential" ||
           part == "credentials" || part == "key";
  });
}

std::vector<std::string> secret_values(std::span<const std::string> environment) {
  std::vector<std::string> values;
  for (const std::string& line : environment) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line.size() - equals - 1 < kShortestSecret) continue;
    if (looks_secret(line.substr(0, equals))) values.push_back(line.substr(equals + 1));
  }
  return values;
}

void mask_values(std::string& text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) {
      text.replace(at, secret.size(), kMask);
      at += std::string_view(kMask).size();
    }
  }
}

// The end of the word at `from`: a space outside of quotes. Approximates a shell's words.
std::size_t end_of_word(std::string_view text, std::size_t from) {
  char quote = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (kBlanks.find(c) != std::string_view::npos) {
      return at;
    }
  }
  return text.size();
}

// Masks secrets inside an argument: a shell script, a URL's parameters, a list.
std::string without_inner_secrets(std::string_view text) {
  constexpr std::string_view kBeforeName = " \t\n;&|(),?'\"`{";
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find_first_not_of(kBeforeName, at), text.size());
    shown += text.substr(at, begin - at);
    const std::size_t end = std::min(text.find_first_of(kBeforeName, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    // NAME=value or --name=value: the value ends at the end of the shell's word.
    const std::size_t equals = word.find('=');
    at = end;
    if (equals != std::string_view::npos && is_secret_option(word.substr(0, equals))) {
      shown.append(word.substr(0, equals + 1)).append(kMask);
      at = end_of_word(text, begin + equals + 1);
      continue;
    }
    shown += word;
    if (equals != std::string_view::npos || !word.starts_with('-') || !is_secret_option(word)) {
      continue;
    }
    // "--token X". If another option follows, this one was a switch.
    const std::size_t value = text.find_first_not_of(kBlanks, end);
    if (value == std::string_view::npos || value == end || text[value] == '-') continue;
    shown.append(text.substr(end, value - end)).append(kMask);
    at = end_of_word(text, value);
  }
  return shown;
}

// As in curl -H 'Authorization: Bearer X'. Masks everything up to a quote, since schemes differ.
std::string without_authorization(std::string text) {
  constexpr std::string_view kHeader = "authorization:";
  const std::size_t header = to_lower(text).find(kHeader);
  if (header == std::string::npos) return text;
  const std::size_t quote = text.find_first_of("'\"", header);
  const std::size_t end = std::min(quote, text.size());
  return text.replace(header + kHeader.size(), end - header - kHeader.size(),
                      std::string(" ") + kMask);
}

// Not every scheduler provides the job's name, and a command with a wrong number would fail. Pods
// have their own names.
bool knows_job(const Host& host) {
  return !host.access.job.empty() || host.access.to_pod();
}

std::string fill_in(std::string_view line, const Host& host, const std::string& command = {}) {
  std::string name = host.access.name.empty() ? host.name : host.access.name;
  std::string name_space;
  if (host.access.to_pod() && !is_address(name)) {
    const std::vector<std::string> labels = split(name, '.');  // POD.SERVICE.NAMESPACE.svc...
    if (labels.size() >= 4 && labels[3] == "svc") name_space = fmt::format("-n {} ", labels[2]);
    name = labels[0];
  }
  return fmt::format(fmt::runtime(line), one_shell_word(name), one_shell_word(host.access.job),
                     one_shell_word(command), name_space);
}

}  // namespace

std::string command_on(const Host& host, const std::string& command) {
  if (!host.access.by_ssh()) return fill_in(host.access.commands->runs, host, command);
  if (is_loopback_name(host.name)) return command;
  std::string text = "ssh ";
  if (host.port != 0) text += "-p " + std::to_string(host.port) + " ";
  if (!host.user.empty()) text += "-l " + one_shell_word(host.user) + " ";
  if (!host.address.empty()) text += "-o HostName=" + one_shell_word(host.address) + " ";
  const std::vector<std::string> words = split(command, ' ');
  // ssh joins its arguments with spaces and passes them to a shell there, so a command that needs
  // no quotes is most readable without them. Others are quoted once, for the local shell.
  const bool bare = std::all_of(words.begin(), words.end(), [](const std::string& word) {
    return word.empty() || one_shell_word(word) == word;
  });
  return text + one_shell_word(host.name) + " " + (bare ? command : one_shell_word(command));
}

std::string state_command(const Host& host) {
  if (host.access.by_ssh()) return command_on(host, "uptime");
  return fill_in(host.access.commands->state, host);
}

std::string kills_command(const Host& host) {
  if (host.access.by_ssh()) return command_on(host, "dmesg | grep -i killed");
  return knows_job(host) ? fill_in(host.access.commands->kills, host) : state_command(host);
}

std::string login_command(const Host& host) {
  if (host.access.by_ssh()) return command_on(host, "true");
  const std::string_view login = host.access.commands->login;
  return login.empty() ? state_command(host) : fill_in(login, host);
}

std::string leftovers_command(const Host& host) {
  if (!host.access.by_ssh() && knows_job(host)) {
    return fill_in(host.access.commands->ends, host, "dtlaunch clean");
  }
  return "dtlaunch clean -hosts " + one_shell_word(host.name);
}

std::string without_url_passwords(std::string text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    const bool is_web =
        text.substr(0, at).ends_with("http") || text.substr(0, at).ends_with("https");
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\n'\"", at), text.size());
    // The last '@': a password may contain one.
    const std::size_t sign = text.substr(at, end - at).rfind('@');
    if (sign == std::string::npos) continue;
    const std::size_t colon = text.substr(at, sign).find(':');
    // A user without a password at a web server is a token.
    const std::size_t shown = colon != std::string::npos ? colon + 1 : is_web ? 0 : sign;
    if (shown < sign) text.replace(at + shown, sign - shown, kMask);
  }
  return text;
}

std::vector<std::string> masked_arguments(std::span<const std::string> arguments,
                                          std::span<const std::string> environment) {
  const std::vector<std::string> secrets = secret_values(environment);
  std::vector<std::string> masked;
  bool mask_next = false;
  for (std::string text : arguments) {
    const std::size_t equals = text.find('=');
    // "--token --verbose": the option has no value.
    const bool is_option = text.starts_with('-');
    if (mask_next && !is_option) {
      text = kMask;
    } else if (equals != std::string::npos && text.find_first_of(kBlanks) > equals &&
               is_secret_option(text.substr(0, equals))) {
      text = text.substr(0, equals + 1) + kMask;
    }
    mask_next = is_option && equals == std::string::npos && is_secret_option(text);
    mask_values(text, secrets);
    text = without_authorization(without_inner_secrets(text));
    masked.push_back(without_url_passwords(std::move(text)));
  }
  return masked;
}

std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment) {
  std::vector<std::string> shown = masked_arguments(arguments, environment);
  for (std::string& text : shown) text = one_shell_word(text);
  return shown;
}

}  // namespace dtl
