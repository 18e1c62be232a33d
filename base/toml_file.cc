// Each getter notes its key in `asked`, and reject_unknown_keys() looks for what nobody has asked
// for. toml11's own types stay in this file and in toml11.h.
#include "base/toml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <set>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/toml11.h"

namespace dtl {
namespace {

using Value = TomlValue;

constexpr int kMaxDepth = 64;  // toml11 recurses; thousands of '[' would overflow the stack

// Walks over TOML text knowing just enough of it (strings and comments) to count how deep brackets
// and dotted keys nest.
class DepthScanner {
 public:
  explicit DepthScanner(std::string_view text) : text_(text) {}

  // The line on which something nests too deep; 0 when nothing does.
  std::size_t too_deep() {
    std::size_t line = 1;
    int brackets = 0, dots = 0;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      // Brackets and dots in strings and comments nest nothing.
      if (c == '"' || c == '\'') line += skip_string(c);
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ < text_.size() && text_[at_] == '\n') ++line;
      if (c == '[' || c == '{') ++brackets;
      if (c == ']' || c == '}') --brackets;
      if (c == '.') ++dots;
      if (std::string_view("=,\n#[]{}").find(c) != std::string_view::npos) dots = 0;
      // a.b.c nests as brackets do: each dot is a table.
      if (brackets > kMaxDepth || dots > kMaxDepth) return line;
    }
    return 0;
  }

 private:
  // From an opening quote to its closing one, or to the end of a text that lacks it. Returns the
  // number of line ends passed.
  std::size_t skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multi_line = text_.substr(at_, 3) == triple;
    const std::string_view closing = multi_line ? std::string_view(triple) : text_.substr(at_, 1);
    std::size_t lines = 0;
    for (at_ += closing.size(); at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n' && !multi_line) {  // the parser will complain
        --at_;
        return lines;
      }
      if (text_[at_] == '\n') ++lines;
      if (text_[at_] == '\\' && quote == '"') {
        if (++at_ < text_.size() && text_[at_] == '\n') ++lines;
      } else if (text_.substr(at_, closing.size()) == closing) {
        at_ += closing.size() - 1;
        return lines;
      }
    }
    return lines;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view type_name(const Value& value) {
  switch (value.type()) {
    case toml::value_t::empty:
      return "nothing";
    case toml::value_t::boolean:
      return "true or false";
    case toml::value_t::integer:
      return "a whole number";
    case toml::value_t::floating:
      return "a number";
    case toml::value_t::string:
      return "a string";
    case toml::value_t::offset_datetime:
    case toml::value_t::local_datetime:
    case toml::value_t::local_date:
    case toml::value_t::local_time:
      return "a date or time";
    case toml::value_t::array:
      return "a list";
    case toml::value_t::table:
      return "a table";
  }
  return "nothing";
}

// A key as it is written in a file: in quotes unless it is bare.
std::string written(const std::string& name) {
  const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  return bare ? name : fmt::format("\"{}\"", name);
}

std::string last_part(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

// The known key that was probably meant: a misspelt one of the same table, the right one of another
// table, or one of a misspelt table.
std::string suggestion(const std::string& key, const std::vector<std::string>& known) {
  const std::string last = last_part(key), table = key.substr(0, key.size() - last.size());
  std::vector<std::string> siblings;
  for (const std::string& candidate : known) {
    if (to_lower(candidate) == to_lower(key)) return candidate;
    if (candidate == table + last_part(candidate)) siblings.push_back(last_part(candidate));
  }
  const std::string sibling = nearest(last, siblings);
  if (!sibling.empty()) return table + sibling;
  // TOML's usual trap: below a [table] a key of the file itself is the table's.
  const bool of_file = std::find(known.begin(), known.end(), last) != known.end();
  if (of_file && !table.empty()) return fmt::format("{}, above the first [table]", last);
  std::vector<std::string> others;
  for (const std::string& candidate : known) {
    if (last_part(candidate) == last) return candidate;
    // Keys of one table are alike by its name alone.
    if (candidate != table + last_part(candidate) || table.empty()) others.push_back(candidate);
  }
  return nearest(key, others);
}

}  // namespace

struct TomlFile::Impl {
  std::string path;
  Value root;
  std::set<std::string> asked;         // keys of single values and lists
  std::set<std::string> asked_tables;  // keys of whole tables
  std::set<std::string> asked_lists;   // keys of lists of tables

  std::string line_of(const Value& value) const {
    return fmt::format("{}:{}", path, place_of(value).line);
  }

  Error wrong_type(const std::string& key, const Value& value, std::string_view expected) const {
    return Error(Exit::kBadInput, line_of(value),
                 fmt::format("'{}' must be {}, not {}", key, expected, type_name(value)));
  }

  // The value of a dotted key; nullptr when the file does not have it.
  const Value* find(const std::string& key) const {
    if (key.empty()) return &root;
    const Value* value = &root;
    std::string prefix;
    for (const std::string& part : split(key, '.')) {
      // Below a list of tables the next part of the key is a number: "host.0.name".
      if (asked_lists.contains(prefix)) {
        const auto index = parse_integer(part, 0, INT64_MAX);
        assert(index && static_cast<std::size_t>(*index) < value->as_array().size());
        value = &value->as_array()[static_cast<std::size_t>(*index)];
        prefix += "." + part;
        continue;
      }
      if (!value->is_table()) throw wrong_type(prefix, *value, "a table");
      const auto& table = value->as_table();
      const auto found = table.find(part);
      if (found == table.end()) return nullptr;
      value = &found->second;
      prefix += (prefix.empty() ? "" : ".") + part;
    }
    return value;
  }

  const Value* ask(const std::string& key) {
    // Also where the file does not have it: known keys are suggested for misspelt ones.
    asked.insert(key);
    return find(key);
  }

  // Arguments, names and paths end at a zero byte, so a string with one would be cut silently.
  std::string text_of(const std::string& key, const Value& value) const {
    if (!value.is_string()) throw wrong_type(key, value, "a string");
    const std::string& text = dtl::text_of(value);
    if (text.find('\0') != std::string::npos) {
      throw Error(Exit::kBadInput, line_of(value), fmt::format("'{}' has a zero byte in it", key));
    }
    return text;
  }

  // toml11 clamps numbers that do not fit. The two outermost numbers are refused for that, and
  // nothing needs them.
  std::int64_t integer_of(const std::string& key, const Value& value) const {
    if (!value.is_integer()) throw wrong_type(key, value, "a whole number");
    const std::int64_t number = value.as_integer();
    if (number == INT64_MAX || number == INT64_MIN) {
      throw Error(Exit::kBadInput, line_of(value), fmt::format("'{}' is too large", key));
    }
    return number;
  }

  std::string scalar_of(const std::string& key, const Value& value) const {
    if (value.is_string()) return text_of(key, value);
    if (value.is_boolean()) return value.as_boolean() ? "true" : "false";
    if (value.is_integer()) return std::to_string(integer_of(key, value));
    if (value.is_floating()) return fmt::format("{}", value.as_floating());
    throw wrong_type(key, value, "a string, a number, true or false");
  }

  struct Unknown {
    std::size_t line, column;
    std::string key;
    // In the order of the file: the first mistake is the one to report.
    bool operator<(const Unknown& other) const {
      return std::tie(line, column, key) < std::tie(other.line, other.column, other.key);
    }
  };

  void collect_unknown(const Value& table, const std::string& prefix,
                       std::vector<Unknown>& unknown) const {
    for (const auto& [name, value] : table.as_table()) {
      const std::string key = prefix + written(name);
      if (asked.contains(key) || asked_tables.contains(key)) continue;
      if (asked_lists.contains(key)) {
        std::size_t index = 0;
        for (const Value& item : value.as_array()) {
          collect_unknown(item, fmt::format("{}.{}.", key, index++), unknown);
        }
        continue;
      }
      const bool is_table = value.is_table();
      // A table that holds known keys is looked into; of another one its first key is named, not
      // the table.
      const auto below = asked.lower_bound(key + ".");
      const bool leads_to_known =
          (below != asked.end() && below->starts_with(key + ".")) ||
          std::any_of(asked_tables.begin(), asked_tables.end(), [&](const std::string& asked_key) {
            return asked_key.starts_with(key + ".");
          });
      if (is_table && (leads_to_known || !value.as_table().empty())) {
        collect_unknown(value, key + ".", unknown);
      } else {
        const TomlPlace place = place_of(value);
        unknown.push_back({place.line, place.column, key});
      }
    }
  }
};

TomlFile::TomlFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TomlFile::TomlFile(TomlFile&&) noexcept = default;
TomlFile& TomlFile::operator=(TomlFile&&) noexcept = default;
TomlFile::~TomlFile() = default;

TomlFile TomlFile::load(const std::string& path) {
  return parse(read_file(path, kMaxTomlBytes), path);
}

TomlFile TomlFile::parse(const std::string& text, const std::string& path_for_messages) {
  if (const std::size_t line = DepthScanner(text).too_deep(); line != 0) {
    throw Error(Exit::kBadInput, fmt::format("{}:{}", path_for_messages, line),
                fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  // toml11 3.7 reads beyond its buffer while it complains about such a byte in a literal string.
  if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
    const auto line = 1 + std::count(text.data(), text.data() + at, '\n');
    throw Error(Exit::kBadInput, fmt::format("{}:{}", path_for_messages, line),
                fmt::format("byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text[at])));
  }
  auto impl = std::make_unique<Impl>();
  impl->path = path_for_messages;
  impl->root = parse_toml(text, path_for_messages);
  return TomlFile(std::move(impl));
}

std::optional<std::string> TomlFile::string(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  return impl_->text_of(key, *value);
}

std::optional<std::int64_t> TomlFile::integer(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  return impl_->integer_of(key, *value);
}

bool TomlFile::is_string(const std::string& key) {
  const Value* value = impl_->ask(key);
  return value != nullptr && value->is_string();
}

std::optional<double> TomlFile::number(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_integer()) return static_cast<double>(impl_->integer_of(key, *value));
  if (!value->is_floating()) throw impl_->wrong_type(key, *value, "a number");
  return value->as_floating();
}

std::optional<bool> TomlFile::boolean(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw impl_->wrong_type(key, *value, "true or false");
  return value->as_boolean();
}

std::optional<std::vector<std::string>> TomlFile::strings(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) throw impl_->wrong_type(key, *value, "a list of strings");
  std::vector<std::string> texts;
  for (const Value& item : value->as_array()) texts.push_back(impl_->text_of(key, item));
  return texts;
}

std::vector<std::pair<std::string, std::string>> TomlFile::table(const std::string& key) {
  impl_->asked_tables.insert(key);
  const Value* value = impl_->find(key);
  if (value == nullptr) return {};
  if (!value->is_table()) throw impl_->wrong_type(key, *value, "a table");
  // By line and column, since toml11's map is sorted by name.
  using Entry = std::tuple<std::size_t, std::size_t, std::string, std::string>;
  std::vector<Entry> entries;
  const std::string prefix = key.empty() ? "" : key + ".";
  for (const auto& [name, item] : value->as_table()) {
    const TomlPlace place = place_of(item);
    entries.emplace_back(place.line, place.column, name,
                         impl_->scalar_of(prefix + written(name), item));
  }
  std::sort(entries.begin(), entries.end());
  std::vector<std::pair<std::string, std::string>> result;
  for (auto& [line, column, name, text] : entries) {
    result.emplace_back(std::move(name), std::move(text));
  }
  return result;
}

std::size_t TomlFile::tables(const std::string& key) {
  const Value* value = impl_->find(key);
  if (value == nullptr) {
    impl_->asked_tables.insert(key);  // known, for the nearest key of a misspelt one
    return 0;
  }
  const bool tables = value->is_array() && !value->as_array().empty() &&
                      std::all_of(value->as_array().begin(), value->as_array().end(),
                                  [](const Value& item) { return item.is_table(); });
  if (!tables) throw impl_->wrong_type(key, *value, fmt::format("tables [[{}]]", key));
  impl_->asked_lists.insert(key);
  return value->as_array().size();
}

std::string TomlFile::where(const std::string& key) const {
  const Value* value = impl_->find(key);
  return value == nullptr ? impl_->path : impl_->line_of(*value);
}

void TomlFile::reject_unknown_keys() const {
  std::vector<Impl::Unknown> unknown;
  impl_->collect_unknown(impl_->root, "", unknown);
  if (unknown.empty()) return;
  // The first one of the file, as an editor shows it; the others follow once that is mended.
  const Impl::Unknown& first = *std::min_element(unknown.begin(), unknown.end());
  std::vector<std::string> known(impl_->asked.begin(), impl_->asked.end());
  known.insert(known.end(), impl_->asked_tables.begin(), impl_->asked_tables.end());
  throw Error(Exit::kBadInput, fmt::format("{}:{}", impl_->path, first.line),
              fmt::format("unknown key '{}'", first.key), suggestion(first.key, known));
}

Library toml_library() {
  return {"toml11", version_of(TOML11_VERSION_MAJOR, TOML11_VERSION_MINOR, TOML11_VERSION_PATCH)};
}

}  // namespace dtl
