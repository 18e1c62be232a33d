// A place is known by its text alone: keys of a JSON file are shown in quotes, those of TOML are
// not. What a file has is never typed on a command line, so no shell's quotes are left in hints.
#include "trainer/settings/option_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "base/text.h"

namespace dtl::trainer {
namespace {

bool is_plain_value(std::string_view value) {
  if (value == "true" || value == "false") return true;
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size();
}

std::string without_shell_quotes(std::string word) {
  const bool quoted = word.size() >= 2 && word.front() == '\'' && word.back() == '\'';
  return quoted ? word.substr(1, word.size() - 2) : word;
}

std::string value_in_file(const std::string& value, bool json) {
  if (is_plain_value(value)) return value;
  const bool has_quotes = value.find('"') != value.npos;
  if (has_quotes && !json) return fmt::format("'{}'", value);  // TOML's literal string
  std::string text;
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return fmt::format("\"{}\"", text);
}

// Of a place: "job.toml" for "job.toml:5:17".
std::string file_of(const OptionPlace& at) {
  const std::size_t column = at.place.rfind(':');
  const std::size_t line = column == at.place.npos ? column : at.place.rfind(':', column - 1);
  return at.place.substr(0, line);
}

std::string first_option(const std::string& attempted) {
  return attempted.substr(0, attempted.find_first_of(" =,:"));
}

}  // namespace

bool OptionPlace::is_truth() const {
  constexpr std::string_view kEnds[] = {" = true", " = false", ": true", ": false"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return shown.ends_with(end); });
}

std::string option_of_key(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  return "--" + key;
}

std::string hint_in_file(const std::string& hint, const OptionPlace& like) {
  if (!hint.starts_with("--")) return hint;
  const std::string first = hint.substr(0, hint.find(" --"));
  const std::size_t blank = first.find(' ');
  const bool json = like.shown.starts_with('"');
  const std::string value =
      blank == first.npos ? "true" : without_shell_quotes(first.substr(blank + 1));
  return fmt::format(fmt::runtime(json ? "\"{}\": {}" : "{} = {}"), first.substr(2, blank - 2),
                     value_in_file(value, json));
}

Error where_it_stands(const Error& error, const std::vector<OptionPlace>& places,
                      const std::vector<std::string>& on_line) {
  if (places.empty()) return error;
  std::vector<TypedOption> typed;
  for (const OptionPlace& at : places) {
    const std::string name = option_of_key(at.key);
    if (std::find(on_line.begin(), on_line.end(), name) != on_line.end()) continue;
    typed.push_back({name, at.where()});
  }
  const std::string option = first_option(error.attempted());
  if (std::find(on_line.begin(), on_line.end(), option) != on_line.end()) return error;
  Error placed = as_typed(error, typed);
  // An option that is missing has no line.
  if (placed.attempted() == error.attempted()) {
    placed = placed.with_context(file_of(places.front()));
  }
  return Error(placed.status(), placed.attempted(), placed.reason(),
               hint_in_file(placed.hint(), places.front()));
}

}  // namespace dtl::trainer
