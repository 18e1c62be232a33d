// A patch that changes nothing is an error here, because it would otherwise show in the cluster.
#include "launcher/kube/kube_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

using Object = nlohmann::ordered_json;

constexpr int kMostDepth = 64;                    // objects of Kubernetes have about 20
constexpr std::size_t kMostPatchBytes = 1 << 20;  // a cluster accepts no larger object

constexpr const char* kExample = R"({"metadata": {"annotations": {"note": "text"}}})";

[[noreturn]] void refuse_patch(const KubePatch& patch, const std::string& why,
                               const std::string& hint = kExample) {
  const std::string place = patch.number > 0 ? fmt::format(": patch {}", patch.number) : "";
  throw file_error(fmt::format("{}{}", one_shell_word(patch.file), place), "", why, hint);
}

// A text of the patch that identifies its object; empty if the patch lacks it.
std::string name_in(const Object& fields, const char* name, const KubePatch& patch) {
  if (!fields.contains(name)) return {};
  if (!fields[name].is_string()) refuse_patch(patch, fmt::format("its {} is not a text", name));
  return fields[name].get<std::string>();
}

// Members whose names begin with '#' would be printed as comments (yaml.h).
void check_names(const Object& value, const KubePatch& patch) {
  for (const auto& [name, member] : value.items()) {
    if (value.is_object() && (name.empty() || name[0] == '#')) {
      refuse_patch(patch, fmt::format("'{}' is not the name of a field", printable(name)));
    }
    if (member.is_structured()) check_names(member, patch);
  }
}

bool fits(const Object& change, const Object& object, const std::string& main_kind,
          const KubePatch& patch) {
  const std::string kind = name_in(change, "kind", patch);
  if ((kind.empty() ? main_kind : kind) != name_in(object, "kind", patch)) return false;
  const auto is_same = [&](const Object& wanted, const Object& rendered, const char* name) {
    return !wanted.contains(name) || name_in(wanted, name, patch) == name_in(rendered, name, patch);
  };
  if (!is_same(change, object, "apiVersion")) return false;
  if (!change.contains("metadata")) return true;
  const Object &wanted = change["metadata"], &rendered = object["metadata"];
  if (!wanted.is_object()) refuse_patch(patch, "its metadata is not an object");
  return is_same(wanted, rendered, "name") && is_same(wanted, rendered, "namespace");
}

std::string titles(const std::vector<Object>& objects) {
  std::vector<std::string> names;
  for (const Object& object : objects) {
    const Object& metadata = object["metadata"];
    names.push_back(fmt::format(
        "kind {} ({}) named {}{}", object["kind"].get<std::string>(),
        object["apiVersion"].get<std::string>(), metadata["name"].get<std::string>(),
        metadata.contains("namespace") ? " in " + metadata["namespace"].get<std::string>()
                                       : std::string()));
  }
  return join(names, ", ");
}

void apply_patch(const KubePatch& patch, const std::string& main_kind,
                 std::vector<Object>& objects) {
  const Object change = Object::parse(patch.json);
  for (Object& object : objects) {
    if (!fits(change, object, main_kind, patch)) continue;
    const Object before = object;
    object.merge_patch(change);
    if (object != before) return;
    refuse_patch(patch,
                 "changes nothing: the manifest already says this, or does not have the field",
                 "the same command without --patch, to see the manifest");
  }
  refuse_patch(patch, "fits none of the objects of this manifest, which has " + titles(objects),
               "kind and metadata.name of one of these");
}

std::string text_of(const std::string& file) {
  try {
    return read_file(file, kMostPatchBytes);
  } catch (const Error& error) {
    throw file_error(one_shell_word(file), "cannot read", error.reason(), error.hint());
  }
}

// Of two fields with one name the parser would silently take the last one.
Object parse_once(const std::string& file, const std::string& text) {
  std::vector<std::set<std::string>> names;
  const auto note = [&](int depth, Object::parse_event_t event, Object& value) {
    // Later steps use recursion.
    if (depth > kMostDepth) {
      throw file_error(one_shell_word(file), "", "too many levels", kExample);
    }
    if (event == Object::parse_event_t::object_start) names.emplace_back();
    if (event == Object::parse_event_t::object_end) names.pop_back();
    if (event != Object::parse_event_t::key) return true;
    if (names.back().insert(value.get<std::string>()).second) return true;
    throw file_error(one_shell_word(file), "",
                     fmt::format("an object has '{}' twice", printable(value.get<std::string>())),
                     kExample);
  };
  return Object::parse(text, note);
}

// The parser counts bytes from 1; its own message is for programmers.
Object parse(const std::string& file, const std::string& text) {
  try {
    return parse_once(file, text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view start = trim(text);
    const bool json = start.starts_with('{') || start.starts_with('[');
    if (!json) {
      throw file_error(
          one_shell_word(file), "", "not JSON; Python's yaml converts YAML to it",
          fmt::format("python3 -c \"import json, sys, yaml; "
                      "json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)\" <{} "
                      ">patch.json",
                      one_shell_word(file)));
    }
    const std::size_t at = std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0);
    const bool ends = trim(std::string_view(text).substr(at)).empty();
    const std::size_t shown = ends ? text.find_last_not_of(" \t\r\n") : at;
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(shown), '\n');
    throw file_error(file_place(one_shell_word(file), static_cast<std::size_t>(line)), "",
                     ends ? "the JSON ends too early" : "not JSON in UTF-8 from here on",
                     "python3 -m json.tool " + one_shell_word(file));
  }
}

}  // namespace

std::vector<KubePatch> load_patches(const std::string& file) {
  std::vector<KubePatch> patches;
  const Object all = parse(file, text_of(file));
  const std::vector<Object> changes =
      all.is_array() ? all.get<std::vector<Object>>() : std::vector<Object>{all};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Object& change = changes[i];
    patches.push_back({file, all.is_array() ? static_cast<int>(i) + 1 : 0, change.dump()});
    if (!change.is_object()) {
      refuse_patch(patches.back(), "not an object with fields");
    }
    check_names(change, patches.back());
  }
  if (patches.empty()) {
    throw file_error(one_shell_word(file), "", "the file is empty", kExample);
  }
  return patches;
}

void apply_patches(const std::vector<KubePatch>& patches, const std::string& main_kind,
                   std::vector<std::string>& objects) {
  std::vector<Object> changed;
  for (const std::string& object : objects) changed.push_back(Object::parse(object));
  for (const KubePatch& patch : patches) apply_patch(patch, main_kind, changed);
  objects.clear();
  for (const Object& object : changed) objects.push_back(object.dump());
}

}  // namespace dtl
