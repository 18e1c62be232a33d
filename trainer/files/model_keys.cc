// Unknown keys are refused, not skipped. A model that computes something other than it was trained
// for gives results that look like bad training.
#include "trainer/files/model_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace dtl::trainer {
namespace {

bool is_one_of(std::string_view values, std::string_view value) {
  while (!values.empty()) {
    const std::size_t end = std::min(values.find(' '), values.size());
    if (values.substr(0, end) == value) return true;
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return false;
}

constexpr std::size_t kLongestValue = 60;  // characters of a value in a message

}  // namespace

std::optional<KeyRefusal> refused_key(const KnownKeys& object, std::string_view key,
                                      std::string_view value) {
  const KnownKey* known = find_known_key(object, key);
  if (known == nullptr) {
    return KeyRefusal{fmt::format("'{}'", key),
                      "unknown key, which may change what the model computes",
                      "the file without it, if it changes nothing"};
  }
  if (known->use != KeyUse::kOnly || is_one_of(known->values, value)) return std::nullopt;
  // A table of numbers would fill the screen, so long values are not shown.
  const std::string shown = value.size() <= kLongestValue ? std::string(value) : "..";
  const std::string harmless(known->values);
  return KeyRefusal{
      fmt::format("'{}': {}", key, shown), known->reason,
      harmless.empty()
          ? fmt::format("the file without '{}', if the model is the same without it", key)
          : fmt::format("\"{}\": {}, if the model is the same with it", key,
                        harmless.substr(0, harmless.find(' ')))};
}

bool key_needs_value(const KnownKeys& object, std::string_view key) {
  const KnownKey* known = find_known_key(object, key);
  return known != nullptr && known->use == KeyUse::kOnly;
}

void check_model_folder(const std::string& folder) {
  // Without its adapter, the model would compute something else than its name promises.
  const std::filesystem::path adapter = std::filesystem::path(folder) / "adapter_config.json";
  std::error_code unreadable;
  if (!std::filesystem::exists(adapter, unreadable)) return;
  throw Error(Exit::kBadInput, fmt::format("{}: cannot use this model", adapter.string()),
              "an adapter belongs to it, which is not run here; PEFT's merge_and_unload() makes a "
              "model of both",
              "--model_name_or_path FOLDER");
}

}  // namespace dtl::trainer
