// Each getter records its key in `asked`; reject_unknown_keys() looks for keys that nobody asked
// for. toml11's own types stay in this file and in toml11.h.
#include "base/toml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
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

// The required type of a key, and an example.
struct Wanted {
  std::string_view name, example;
};
constexpr Wanted kText{"a string", "{} = \"TEXT\""};
constexpr Wanted kWhole{"a whole number", "{} = 4"};
constexpr Wanted kScalar{"a string, a number, true or false", "{} = \"TEXT\""};
constexpr Wanted kAnyNumber{"a number", "{} = 0.5"};
constexpr Wanted kTruth{"true or false", "{} = true"};
constexpr Wanted kStrings{"a list of strings", "{} = [\"A\", \"B\"]"};
constexpr Wanted kOneTable{"a table", "[{}]"};
constexpr Wanted kTables{"tables", "[[{}]]"};

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

// A key as written in a file: in quotes unless it is bare.
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
// table, or one in a misspelt table.
std::string suggestion(const std::string& key, const std::vector<std::string>& known) {
  const std::string last = last_part(key), table = key.substr(0, key.size() - last.size());
  std::vector<std::string> siblings;
  for (const std::string& candidate : known) {
    if (to_lower(candidate) == to_lower(key)) return candidate;
    if (candidate == table + last_part(candidate)) siblings.push_back(last_part(candidate));
  }
  const std::string sibling = nearest(last, siblings);
  if (!sibling.empty()) return table + sibling;
  // A common mistake in TOML: below a [table], a key meant for the file belongs to the table.
  const bool of_file = std::find(known.begin(), known.end(), last) != known.end();
  if (of_file && !table.empty()) return fmt::format("{}, above the first [table]", last);
  std::vector<std::string> others;
  for (const std::string& candidate : known) {
    if (last_part(candidate) == last) return candidate;
    // Within one table, compare keys without the table's name.
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

  std::string line_of(const Value& value) const { return file_place(path, place_of(value).line); }

  std::string shown(const std::string& key, const Value& value) const {
    if (value.is_string()) return fmt::format("{} = \"{}\"", key, printable(dtl::text_of(value)));
    if (value.is_boolean()) return fmt::format("{} = {}", key, value.as_boolean());
    if (value.is_integer()) return fmt::format("{} = {}", key, value.as_integer());
    if (value.is_floating()) return fmt::format("{} = {:#}", key, value.as_floating());
    return key;
  }

  Error wrong_type(const std::string& key, const Value& value, const Wanted& wanted) const {
    const std::string text = shown(key, value);
    const std::string is = text == key ? fmt::format("is {}, and not ", type_name(value)) : "not ";
    // "2" in quotes was meant as 2.
    const bool quoted = value.is_string() && wanted.name == kWhole.name &&
                        parse_integer(dtl::text_of(value), 0, INT64_MAX - 1);
    return file_error(line_of(value), text, is + std::string(wanted.name),
                      quoted ? fmt::format("{} = {}", key, dtl::text_of(value))
                             : fmt::format(fmt::runtime(wanted.example), key));
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
      if (!value->is_table()) throw wrong_type(prefix, *value, kOneTable);
      const auto& table = value->as_table();
      const auto found = table.find(part);
      if (found == table.end()) return nullptr;
      value = &found->second;
      prefix += (prefix.empty() ? "" : ".") + part;
    }
    return value;
  }

  const Value* ask(const std::string& key) {
    // Even if the file does not have it: known keys are suggested for misspelt ones.
    asked.insert(key);
    return find(key);
  }

  // Arguments, names and paths end at a zero byte, so a string with one would be cut silently.
  std::string text_of(const std::string& key, const Value& value) const {
    if (!value.is_string()) throw wrong_type(key, value, kText);
    const std::string& text = dtl::text_of(value);
    if (text.find('\0') != std::string::npos) {
      throw file_error(line_of(value), key, "has a zero byte in it", key + " = \"TEXT\"");
    }
    return text;
  }

  // toml11 clamps numbers that do not fit. So the smallest and the largest number are rejected;
  // nothing needs them.
  std::int64_t integer_of(const std::string& key, const Value& value) const {
    if (!value.is_integer()) throw wrong_type(key, value, kWhole);
    const std::int64_t number = value.as_integer();
    if (number == INT64_MAX || number == INT64_MIN) {
      throw file_error(line_of(value), key, "the number is too large", key + " = 4");
    }
    return number;
  }

  std::string scalar_of(const std::string& key, const Value& value) const {
    if (value.is_string()) return text_of(key, value);
    if (value.is_boolean()) return value.as_boolean() ? "true" : "false";
    if (value.is_integer()) return std::to_string(integer_of(key, value));
    if (value.is_floating()) return fmt::format("{}", value.as_floating());
    throw wrong_type(key, value, kScalar);
  }

  struct Unknown {
    std::size_t line, column;
    std::string key;
    // In file order: the first mistake is reported.
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
      // Enters a table with known keys; for another table, names its first key, not the table.
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

bool TomlFile::is_boolean(const std::string& key) {
  const Value* value = impl_->ask(key);
  return value != nullptr && value->is_boolean();
}

std::optional<double> TomlFile::number(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_integer()) return static_cast<double>(impl_->integer_of(key, *value));
  if (!value->is_floating()) throw impl_->wrong_type(key, *value, kAnyNumber);
  return value->as_floating();
}

std::optional<bool> TomlFile::boolean(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw impl_->wrong_type(key, *value, kTruth);
  return value->as_boolean();
}

std::optional<std::vector<std::string>> TomlFile::strings(const std::string& key) {
  const Value* value = impl_->ask(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) throw impl_->wrong_type(key, *value, kStrings);
  std::vector<std::string> texts;
  for (const Value& item : value->as_array()) {
    if (!item.is_string()) throw impl_->wrong_type(key, item, kStrings);
    texts.push_back(impl_->text_of(key, item));
  }
  return texts;
}

std::vector<TomlEntry> TomlFile::entries(const std::string& key) {
  impl_->asked_tables.insert(key);
  const Value* value = impl_->find(key);
  if (value == nullptr) return {};
  if (!value->is_table()) throw impl_->wrong_type(key, *value, kOneTable);
  // By line and column, since toml11's map is sorted by name.
  std::map<std::tuple<std::size_t, std::size_t, std::string>, TomlEntry> in_order;
  for (const auto& [name, item] : value->as_table()) {
    const TomlPlace place = place_of(item);
    // true and false are no secrets: average_tokens_across_devices.
    const bool secret = looks_secret(name) && !item.is_boolean();
    in_order[{place.line, place.column, name}] = {
        name, impl_->scalar_of(written(name), item),
        file_place(impl_->path, place.line, place.column),
        secret ? written(name) : impl_->shown(written(name), item)};
  }
  std::vector<TomlEntry> entries;
  for (auto& [place, entry] : in_order) entries.push_back(std::move(entry));
  return entries;
}

std::vector<std::pair<std::string, std::string>> TomlFile::table(const std::string& key) {
  std::vector<std::pair<std::string, std::string>> result;
  for (TomlEntry& entry : entries(key)) {
    result.emplace_back(std::move(entry.name), std::move(entry.text));
  }
  return result;
}

std::size_t TomlFile::tables(const std::string& key) {
  const Value* value = impl_->find(key);
  if (value == nullptr) {
    impl_->asked_tables.insert(key);  // known, to suggest it for a misspelt one
    return 0;
  }
  const bool tables = value->is_array() && !value->as_array().empty() &&
                      std::all_of(value->as_array().begin(), value->as_array().end(),
                                  [](const Value& item) { return item.is_table(); });
  if (!tables) throw impl_->wrong_type(key, *value, kTables);
  impl_->asked_lists.insert(key);
  return value->as_array().size();
}

std::string TomlFile::where(const std::string& key) const {
  const Value* value = impl_->find(key);
  return value == nullptr ? impl_->path : impl_->line_of(*value);
}

bool TomlFile::empty() const {
  return impl_->root.as_table().empty();
}

std::string TomlFile::shown(const std::string& key) const {
  const Value* value = impl_->find(key);
  return value == nullptr ? key : impl_->shown(key, *value);
}

void TomlFile::reject_unknown_keys() const {
  std::vector<Impl::Unknown> unknown;
  impl_->collect_unknown(impl_->root, "", unknown);
  if (unknown.empty()) return;
  // The first one in the file; the others follow once that is fixed.
  const Impl::Unknown& first = *std::min_element(unknown.begin(), unknown.end());
  std::vector<std::string> known(impl_->asked.begin(), impl_->asked.end());
  known.insert(known.end(), impl_->asked_tables.begin(), impl_->asked_tables.end());
  throw file_error(file_place(impl_->path, first.line), "",
                   fmt::format("unknown key '{}'", first.key), suggestion(first.key, known));
}

Library toml_library() {
  return {"toml11", version_of(TOML11_VERSION_MAJOR, TOML11_VERSION_MINOR, TOML11_VERSION_PATCH)};
}

}  // namespace dtl
