// The messages name the wrong character, not only the rule.
#include "launcher/kube/kube_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kLabelBytes = 63;    // RFC 1035
constexpr std::size_t kObjectBytes = 253;  // of a domain name

bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string check_characters(std::string_view name) {
  if (name.empty()) return "is empty";
  for (const char c : name) {
    if (!is_small(c) && !is_digit(c) && c != '-') {
      return fmt::format("has '{}', and may have lower-case letters, digits and '-'",
                         printable(std::string_view(&c, 1)));
    }
  }
  if (name.front() == '-' || name.back() == '-') return "begins or ends with '-'";
  return {};
}

}  // namespace

std::string check_label(const std::string& name, std::size_t longest_suffix) {
  if (const std::string wrong = check_characters(name); !wrong.empty()) return wrong;
  if (!is_small(name.front())) return "does not begin with a letter";
  // Otherwise the job would be created, but its pods would be rejected.
  if (name.size() + longest_suffix > kLabelBytes) {
    return fmt::format("has {} characters, and {} is the most: its pods get up to {} more",
                       name.size(), kLabelBytes - longest_suffix, longest_suffix);
  }
  return {};
}

std::string check_namespace(const std::string& name) {
  if (const std::string wrong = check_characters(name); !wrong.empty()) return wrong;
  if (name.size() > kLabelBytes) return fmt::format("has more than {} characters", kLabelBytes);
  return {};
}

std::string check_object_name(const std::string& name) {
  if (name.size() > kObjectBytes) return fmt::format("has more than {} characters", kObjectBytes);
  for (const std::string& label : split(name, '.')) {
    if (const std::string wrong = check_characters(label); !wrong.empty()) return wrong;
  }
  return {};
}

std::string check_label_key(const std::string& key) {
  const std::size_t slash = key.find('/');
  if (slash == key.npos) return key.empty() ? "is empty" : check_label_value(key);
  const std::string prefix = key.substr(0, slash), name = key.substr(slash + 1);
  if (const std::string wrong = check_object_name(prefix); !wrong.empty()) {
    return fmt::format("has the domain name '{}' before '/', which {}", printable(prefix), wrong);
  }
  if (name.empty()) return "nothing follows '/'";
  return check_label_value(name);
}

std::string check_label_value(const std::string& value) {
  if (value.empty()) return {};
  if (value.size() > kLabelBytes) return fmt::format("has more than {} characters", kLabelBytes);
  const auto is_good = [](char c) { return is_small(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); };
  for (const char c : value) {
    if (!is_good(c) && std::string_view("-_.").find(c) == std::string_view::npos) {
      return fmt::format("has '{}', and may have letters, digits, '-', '_' and '.'",
                         printable(std::string_view(&c, 1)));
    }
  }
  if (!is_good(value.front()) || !is_good(value.back())) {
    return "does not begin and end with a letter or a digit";
  }
  return {};
}

std::string check_image(const std::string& image) {
  constexpr std::string_view kGood =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
  if (image.empty()) return "is empty";
  const std::size_t bad = image.find_first_not_of(kGood);
  if (bad != image.npos) {
    return fmt::format("has '{}', which image names do not have",
                       printable(std::string_view(image).substr(bad, 1)));
  }
  if (!is_small(image.front()) && !is_digit(image.front()) &&
      !(image.front() >= 'A' && image.front() <= 'Z')) {
    return "does not begin with a letter or a digit";
  }
  if (std::string_view(".-/:@").find(image.back()) != std::string_view::npos) {
    return fmt::format("ends with '{}'", image.back());
  }
  return {};
}

std::optional<double> parse_memory(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string number = text.substr(0, end), unit = text.substr(end);
  const auto dots = std::count(number.begin(), number.end(), '.');
  // 15 digits are exact in a double, and std::stod cannot throw.
  if (number.empty() || number.size() > 15 || dots > 1 || !is_digit(number.front()) ||
      !is_digit(number.back())) {
    return std::nullopt;
  }
  // Exa, milli and exponents, which Kubernetes also accepts, are treated as mistakes.
  constexpr std::string_view kUnits = "KMGTP";
  if (unit.empty()) return std::stod(number);
  const std::size_t power = unit == "k" ? 0 : kUnits.find(unit[0]);
  if (power == kUnits.npos || unit.size() > 2 || (unit.size() == 2 && unit[1] != 'i')) {
    return std::nullopt;
  }
  if (unit == "K") return std::nullopt;  // thousands are "k"
  const double base = unit.size() == 2 ? 1024 : 1000;
  return std::stod(number) * std::pow(base, static_cast<double>(power + 1));
}

}  // namespace dtl
