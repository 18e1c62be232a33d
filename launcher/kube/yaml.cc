#include "launcher/kube/yaml.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kColumns = 100;  // of a list in one line

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Words that YAML 1.1 or 1.2 reads as something else than text.
bool is_reserved(std::string_view text) {
  constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no",
                                         "on",   "off",  "y",     "n"};
  const std::string lower = to_lower(text);
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

// Text that needs no quotes anywhere: what begins with a letter, '/', '_' or an option's dashes.
bool is_plain(std::string_view text) {
  constexpr std::string_view kInside =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@+-";
  if (text.empty() || is_reserved(text) || text.back() == ':') return false;
  const std::size_t dashes = text.find_first_not_of('-');
  if (dashes == text.npos || dashes > 2) return false;
  const char first = text[dashes];
  if (!is_letter(first) && (dashes > 0 || (first != '/' && first != '_'))) return false;
  return text.find_first_not_of(kInside) == text.npos;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Controls of ASCII can be written; of the others a manifest has no use for those that hide.
bool is_text(const std::string& text) {
  std::string rest;
  std::copy_if(text.begin(), text.end(), std::back_inserter(rest), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
  return printable(rest) == rest;
}

}  // namespace

Yaml::Yaml(const char* text) : Yaml(std::string(text)) {}

Yaml::Yaml(const std::string& text) : kind_(Kind::kScalar) {
  if (!is_text(text)) {
    throw Error(Exit::kUsage, fmt::format("cannot write '{}'", printable(text)),
                "a manifest is text, and this holds bytes or marks that are none");
  }
  scalar_ = is_plain(text) ? text : quoted(text);
}

Yaml::Yaml(int number) : kind_(Kind::kScalar), scalar_(std::to_string(number)) {}

Yaml::Yaml(bool truth) : kind_(Kind::kScalar), scalar_(truth ? "true" : "false") {}

Yaml::Yaml(std::vector<Yaml> items) : kind_(Kind::kList), items_(std::move(items)) {}

Yaml::Yaml(const std::vector<std::string>& items) : kind_(Kind::kList) {
  for (const std::string& item : items) items_.emplace_back(item);
}

Yaml& Yaml::operator[](std::string_view name) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (found != members_.end()) return found->value;
  return members_.emplace_back(Member{std::string(name), {}}).value;
}

void Yaml::add(Yaml item) {
  kind_ = Kind::kList;
  items_.push_back(std::move(item));
}

Yaml& Yaml::comment(std::string text) {
  comment_ = std::move(text);
  return *this;
}

std::string Yaml::in_one_line() const {
  std::vector<std::string> words;
  for (const Yaml& item : items_) words.push_back(item.scalar_);
  return "[" + join(words, ", ") + "]";
}

// Whether it goes behind its name: all but maps with members, and lists of such or of many words.
bool Yaml::is_short(std::size_t column) const {
  if (kind_ == Kind::kScalar) return true;
  if (kind_ == Kind::kMap) return members_.empty();
  const bool words = std::all_of(items_.begin(), items_.end(), [](const Yaml& item) {
    return item.kind_ == Kind::kScalar && item.comment_.empty();
  });
  return words && column + in_one_line().size() <= kColumns;
}

// Behind "name:" or "-", which ends at `column`.
void Yaml::write_beside(std::string& page, std::size_t indent, std::size_t column) const {
  if (!is_short(column + 1)) {
    page += '\n';
    write(page, indent);
  } else if (kind_ == Kind::kScalar) {
    page += " " + scalar_ + "\n";
  } else {
    page += kind_ == Kind::kMap ? " {}\n" : " " + in_one_line() + "\n";
  }
}

void Yaml::write(std::string& page, std::size_t indent) const {
  const std::string blanks(indent, ' ');
  const auto remark = [&](const Yaml& value) {
    if (value.comment_.empty()) return;
    for (const std::string& line : split(value.comment_, '\n')) page += blanks + "# " + line + "\n";
  };
  for (const Member& member : members_) {
    remark(member.value);
    page += blanks + member.name + ":";
    const bool list = member.value.kind_ == Kind::kList;
    member.value.write_beside(page, list ? indent : indent + 2, indent + member.name.size() + 1);
  }
  for (const Yaml& item : items_) {
    remark(item);
    if (item.is_short(indent + 2)) {
      page += blanks + "-";
      item.write_beside(page, indent + 2, indent + 1);
      continue;
    }
    std::string below;
    item.write(below, indent + 2);
    below[indent] = '-';  // its first line has no comment: names of items come first
    page += below;
  }
}

std::string Yaml::document() const {
  std::string page;
  write(page, 0);
  return page;
}

}  // namespace dtl
