#pragma once
// Refuses what dttrain does not implement: unknown keys in a model folder's JSON files, values that
// would make it another model, and files that would.

#include <optional>
#include <string>
#include <string_view>

#include "trainer/files/known_keys.h"

namespace dtl::trainer {

struct KeyRefusal {
  std::string what, reason, hint;
};

// Returns nothing if the key may have this value (JSON without blanks).
std::optional<KeyRefusal> refused_key(const KnownKeys& object, std::string_view key,
                                      std::string_view value);
// False if the value does not matter. Callers then need not render it: it may be long.
bool key_needs_value(const KnownKeys& object, std::string_view key);

// Calls refuse(key, refusal) for the first key of a JSON object that is not allowed. Null values
// are ignored.
template <class Json, class Refuse>
void check_keys(const KnownKeys& object, const Json& json, const Refuse& refuse) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_null()) continue;
    const std::string text = key_needs_value(object, key)
                                 ? value.dump(-1, ' ', false, Json::error_handler_t::replace)
                                 : std::string();
    if (const auto refusal = refused_key(object, key, text)) refuse(key, *refusal);
  }
}

// Throws Error(kBadInput) for a file beside the model that would make it another model.
void check_model_folder(const std::string& folder);

}  // namespace dtl::trainer
