#pragma once
// The members and types of an answer with --json, as text that a test compares.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace dtl::json_members {

using Json = nlohmann::ordered_json;

// "jobs[].ranks number" for each value; of a list only the first element counts.
inline void add_members(const std::string& path, const Json& value, std::string& text) {
  if (value.is_object()) {
    if (!path.empty()) text += path + " object\n";
    for (const auto& [name, member] : value.items()) {
      add_members(path.empty() ? name : path + "." + name, member, text);
    }
  } else if (value.is_array()) {
    text += path + " list\n";
    if (!value.empty()) add_members(path + "[]", value[0], text);
  } else {
    text += path + " " + value.type_name() + "\n";
  }
}

inline std::string members(const std::string& answer) {
  EXPECT_TRUE(answer.ends_with("}\n"));
  std::string text = "\n";
  add_members("", Json::parse(answer), text);
  return text;
}

inline std::string schema(const std::string& answer) {
  const Json json = Json::parse(answer);
  EXPECT_EQ(json.begin().key(), "schema");
  return json["schema"];
}

}  // namespace dtl::json_members
