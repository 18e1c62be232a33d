// Why not yaml-cpp: version 0.7 leaves yes, 0x10, 1e3 and dates unquoted, and its block scalars
// gain or lose newlines. This file has only what manifests need.
#include "launcher/kube/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;  // of a list in one line

// Text that never needs quotes: it begins with a letter, '/', '_' or an option's dashes, and YAML
// 1.1 and 1.2 read it as a string. In doubt it is quoted, which is always right.
bool is_plain(std::string_view text) {
  constexpr std::string_view kReserved[] = {"null", "true", "false", "yes", "no",
                                            "on",   "off",  "y",     "n"};
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kOthers = "0123456789_./:=@+-";
  const std::size_t dashes = std::min(text.find_first_not_of('-'), text.size());
  if (dashes == text.size() || dashes > 2 || text.back() == ':') return false;
  const bool is_path = dashes == 0 && (text[0] == '/' || text[0] == '_');
  if (!is_path && kLetters.find(text[dashes]) == kLetters.npos) return false;
  if (std::ranges::count(kReserved, to_lower(text)) > 0) return false;
  return std::ranges::all_of(text, [&](char c) {
    return kLetters.find(c) != kLetters.npos || kOthers.find(c) != kOthers.npos;
  });
}

// Whether a block scalar keeps these lines unchanged. Leading blanks would be taken for the block's
// indent, and all but one newline at the end would be lost.
bool is_script(std::string_view text) {
  return text.find('\n') != text.npos && text.find_first_of(" \t\n") != 0 &&
         !text.ends_with("\n\n") && std::ranges::all_of(text, [](char c) {
           return static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n';
         });
}

// "|-" keeps no newline at the end; "|" keeps one. indent: of the lines.
std::string script(std::string text, std::size_t indent) {
  std::string page = text.ends_with('\n') ? "|" : "|-";
  if (text.ends_with('\n')) text.pop_back();
  for (const std::string& line : split(text, '\n')) {
    page += "\n" + (line.empty() ? "" : std::string(indent, ' ') + line);
  }
  return page;
}

// Quotes as in JSON, which every YAML parser reads.
std::string scalar(const ordered_json& value, std::size_t indent) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  const std::string quoted = value.dump();  // without control characters, DEL excepted
  if (printable(quoted) != quoted || text.find("\ufffd") != text.npos) {
    throw option_error(
        "kube render",
        fmt::format("'{}' has bytes that are not text, and a manifest is text", printable(text)),
        "dtlaunch kube render --help");
  }
  if (is_plain(text)) return text;
  return is_script(text) ? script(text, indent) : quoted;
}

// A list of a few words in one line; empty for any other list.
std::string short_list(const ordered_json& list, std::size_t column) {
  std::vector<std::string> words;
  for (const ordered_json& item : list) {
    if (!item.is_primitive()) return "";
    words.push_back(scalar(item, 0));
  }
  const std::string line = " [" + join(words, ", ") + "]\n";
  const bool fits = column + line.size() <= kColumns + 2 && line.find('\n') + 1 == line.size();
  return fits ? line : "";
}

std::string lines_of(const ordered_json& value, std::size_t indent);

// The value after "name:" or "-", which ends at `column`. indent: of the lines below it.
std::string beside(const ordered_json& value, std::size_t indent, std::size_t column) {
  if (value.is_primitive()) return " " + scalar(value, indent) + "\n";
  if (value.is_object() && value.empty()) return " {}\n";
  const std::string line = value.is_array() ? short_list(value, column) : "";
  return line.empty() ? "\n" + lines_of(value, indent) : line;
}

std::string lines_of(const ordered_json& value, std::size_t indent) {
  const std::string blanks(indent, ' ');
  std::string page;
  for (const auto& [name, member] : value.items()) {
    if (value.is_array()) {
      std::string item = blanks + "-" + beside(member, indent + 2, indent + 1);
      // An object begins after the dash: its first line is not a comment.
      if (item[indent + 1] == '\n') item = item.substr(indent + 2).replace(indent, 1, "-");
      page += item;
    } else if (name.starts_with('#')) {
      page += blanks + name + "\n";
    } else {
      // A list's dashes are directly below the name, as kubectl prints them.
      const std::size_t below = member.is_array() ? indent : indent + 2;
      const std::string written = is_plain(name) ? name : ordered_json(name).dump();
      page += blanks + written + ":" + beside(member, below, indent + written.size() + 1);
    }
  }
  return page;
}

}  // namespace

std::string yaml_of(const std::string& json) {
  return lines_of(ordered_json::parse(json), 0);
}

}  // namespace dtl
