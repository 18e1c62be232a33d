#include "plan/command_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

constexpr const char* kMask = "***";
// A shorter "secret" would mask ordinary words and digits that happen to be equal to it.
constexpr std::size_t kShortestSecret = 6;

// Options are judged by whole words, or --tokenizer_name would hide its value.
bool is_secret_option(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '-', '_');
  const std::vector<std::string> parts = split(to_lower(words), '_');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part == "token" || part == "secret" || part == "password" || part == "passwd" ||
           part == "credential" || part == "credentials" || part == "key";
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

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += static_cast<unsigned char>(c) < ' ' ? '?' : c;  // no control bytes to a terminal
    }
  }
  return result + "'";
}

}  // namespace

std::vector<std::string> masked_arguments(std::span<const std::string> arguments,
                                          std::span<const std::string> environment) {
  const std::vector<std::string> secrets = secret_values(environment);
  std::vector<std::string> masked;
  bool mask_next = false;
  for (std::string text : arguments) {
    const std::size_t equals = text.find('=');
    const bool is_option = text.starts_with('-');
    if (mask_next && !is_option) {
      text = kMask;
    } else if (is_secret_option(text.substr(0, equals)) && equals != std::string::npos) {
      text = text.substr(0, equals + 1) + kMask;
    }
    mask_next = is_option && equals == std::string::npos && is_secret_option(text);
    mask_values(text, secrets);
    masked.push_back(std::move(text));
  }
  return masked;
}

std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment) {
  std::vector<std::string> shown = masked_arguments(arguments, environment);
  for (std::string& text : shown) text = shell_quoted(text);
  return shown;
}

}  // namespace dtl
