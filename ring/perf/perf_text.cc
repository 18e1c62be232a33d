// json_members parses one flat object from this program's own library (dt_stats_json), not JSON in
// general: it gives up on anything unexpected.
#include "ring/perf/perf_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace dtl::ring {

std::vector<std::string> ranks_by_host(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    if (std::find(names.begin(), names.end(), host) == names.end()) names.push_back(host);
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    std::string ranks;
    for (std::size_t first = 0; first < hosts.size(); ++first) {
      if (hosts[first] != name) continue;
      std::size_t last = first;
      while (last + 1 < hosts.size() && hosts[last + 1] == name) ++last;
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ",", first);
      if (last > first) ranks += fmt::format("-{}", last);
      first = last;
    }
    lines.push_back(fmt::format("{} on {}", ranks, name));
  }
  return lines;
}

std::vector<std::pair<std::string, std::string>> json_members(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> members;
  const auto trimmed = [](std::string_view part) {
    const std::size_t first = part.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) return std::string_view();
    return part.substr(first, part.find_last_not_of(" \t\n") - first + 1);
  };
  const std::string_view object = trimmed(text);
  if (object.size() < 2 || object.front() != '{' || object.back() != '}') return members;
  bool in_string = false;
  int depth = 0;
  std::size_t begin = 1, colon = 0;
  for (std::size_t i = 1; i < object.size(); ++i) {
    const char c = object[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && c == ':' && colon == 0) colon = i;
    if (depth == 0 && (c == ',' || c == '}')) {
      if (colon != 0) {
        const std::string_view name = trimmed(object.substr(begin, colon - begin));
        if (name.size() < 2) return {};
        members.emplace_back(name.substr(1, name.size() - 2),
                             trimmed(object.substr(colon + 1, i - colon - 1)));
      }
      begin = i + 1;
      colon = 0;
      continue;
    }
    if (c == '}' || c == ']') --depth;
  }
  return members;
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      json += c;
    }
  }
  return json + "\"";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    const std::size_t at = text.find_last_of(", ", width - 1);
    const std::size_t length = at == std::string_view::npos ? width : at + 1;
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  lines.emplace_back(text);
  return lines;
}

std::string four_digits(double value) {
  const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 9999.5 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace dtl::ring
