// Turns a file into command-line arguments, with their positions. It does not know the options:
// settings.cc looks them up.
#include "trainer/settings/argument_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/toml_file.h"
#include "trainer/json/json_depth.h"
#include "trainer/json/json_text.h"

namespace dtl::trainer {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = 1 << 20;  // a hundred options take 5 kB

// Accepts "--train-file", "train-file" and "train_file", as HfArgumentParser does on the command
// line.
std::string option_name(std::string key) {
  if (key.starts_with("--")) key.erase(0, 2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(Exit::kUsage, path, reason, "dttrain --help-all");
}

// A value as spelled on the command line: the option table parses both the same way.
std::string value_of(const std::string& path, const std::string& key, const OrderedJson& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  if (value.empty() && key == "report_to") return "none";  // TrainingArguments writes an empty list
  std::vector<std::string> texts;
  for (const OrderedJson& item : value) {
    if (!item.is_string()) refuse(path, fmt::format("'{}' is not a list of texts", key));
    texts.push_back(item.get<std::string>());
  }
  return join(texts, ",");
}

// Of a long list the key alone, as of a secret.
std::string shown_json(const std::string& key, const OrderedJson& value) {
  constexpr std::size_t kMostShown = 60;
  const std::string quoted = OrderedJson(key).dump(), text = value.dump();
  // True and false are no secrets: --average_tokens_across_devices.
  const bool whole = text.size() <= kMostShown && (value.is_boolean() || !looks_secret(key));
  return whole ? fmt::format("{}: {}", quoted, text) : quoted;
}

std::vector<FileArgument> read_json(const std::string& path, const std::string& text) {
  if (nests_too_deep(text)) refuse(path, kNestsTooDeep);
  const OrderedJson root = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) refuse_json(path, text, {"cannot read the options", Exit::kUsage});
  std::vector<FileArgument> arguments;
  for (const auto& [key, value] : root.items()) {
    const std::string place = json_place(path, text, {key});
    // TrainingArguments writes {} for options that were not given.
    const bool is_object = value.is_object() && !value.empty();
    const std::string text_value =
        value.is_object() && !is_object ? "" : value_of(place, key, value);
    arguments.push_back(
        {option_name(key), text_value, {key, place, shown_json(key, value)}, is_object});
  }
  return arguments;
}

std::vector<FileArgument> read_toml(const std::string& path, const std::string& text) {
  std::vector<FileArgument> arguments;
  try {
    TomlFile file = TomlFile::parse(text, path);
    // Nothing but comments, perhaps.
    if (file.empty()) refuse(file_place(path, 1), "the file is empty");
    for (TomlEntry& entry : file.entries("")) {
      arguments.push_back(
          {option_name(entry.name), std::move(entry.text), {entry.name, entry.place, entry.shown}});
    }
  } catch (const Error& error) {  // all ranks read the same file: one message is enough
    throw Error(Exit::kUsage, error.attempted(), error.reason(), error.hint());
  }
  return arguments;
}

}  // namespace

bool is_argument_file(const std::string& word) {
  return !word.starts_with("-") && (word.ends_with(".json") || word.ends_with(".toml"));
}

std::vector<FileArgument> read_argument_file(const std::string& path) {
  const std::string text = read_regular_file(path, kMaxBytes);
  std::vector<FileArgument> arguments =
      path.ends_with(".toml") ? read_toml(path, text) : read_json(path, text);
  // An empty value means null or {}: keep the default.
  std::erase_if(arguments, [](const FileArgument& argument) { return argument.value.empty(); });
  return arguments;
}

}  // namespace dtl::trainer
