#include "agent/pmi/pmi2_message.h"

#include <fmt/format.h>

namespace dtl {
namespace {

// Removes an attribute from `rest`: up to a ';' that is not doubled, and that one. False: it has
// no end.
bool take_attribute(std::string_view& rest, std::string& attribute) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != ';') {
      attribute += rest[i];
    } else if (i + 1 < rest.size() && rest[i + 1] == ';') {
      attribute += rest[i++];
    } else {
      rest.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char each : value) text.append(each == ';' ? 2 : 1, each);
  return text;
}

}  // namespace

PmiCommand parse_pmi2_message(std::string_view body) {
  PmiCommand command;
  command.line = body;
  PmiAttributes attributes;
  for (std::string_view rest = body; !rest.empty();) {
    std::string attribute;
    if (!take_attribute(rest, attribute)) return command;  // still without a name
    const std::size_t equals = attribute.find('=');
    if (equals == attribute.npos || equals == 0) return command;
    attributes.emplace_back(attribute.substr(0, equals), attribute.substr(equals + 1));
  }
  if (attributes.empty() || attributes.front().first != "cmd") return command;
  command.name = attributes.front().second;
  attributes.erase(attributes.begin());
  command.attributes = std::move(attributes);
  return command;
}

std::string pmi2_message(std::string_view name, const PmiAttributes& attributes) {
  std::string body = fmt::format("cmd={};", name);
  for (const auto& [key, value] : attributes) body += fmt::format("{}={};", key, escaped(value));
  return fmt::format("{:6}{}", body.size(), body);
}

}  // namespace dtl
