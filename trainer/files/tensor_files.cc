// Picks the reader by the file's name. checkpoint/ decides which names a model folder may have.
#include "trainer/files/tensor_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "trainer/files/model_keys.h"
#include "trainer/files/safetensors.h"
#include "trainer/files/torch_file.h"
#include "trainer/json/json_text.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxIndexBytes = 64 << 20;

[[noreturn]] void refuse_tensors(const std::string& path, const std::string& reason) {
  throw Error(Exit::kBadInput, fmt::format("{}: cannot read the tensors", path),
              reason + "; copy or download the folder again",
              "ls -l " + one_shell_word(std::filesystem::path(path).parent_path().string()));
}

// The files named by an index are in the same folder.
std::set<std::string> indexed_files(const std::string& path) {
  const JsonComplaint complaint{"cannot read the tensors"};
  const std::string bytes = read_json_text(path, kMaxIndexBytes, complaint);
  const Json index = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object()) refuse_json(path, bytes, complaint);
  check_keys(keys_of::kTensorIndex, index, [&](const std::string& key, const KeyRefusal& refusal) {
    throw Error(Exit::kBadInput,
                fmt::format("{}: cannot use {}", json_place(path, bytes, {key}), refusal.what),
                refusal.reason, refusal.hint);
  });
  if (!index.contains("weight_map") || !index["weight_map"].is_object()) {
    refuse_tensors(path, "it has no weight_map");
  }
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::set<std::string> files;
  for (const auto& [name, file] : index["weight_map"].items()) {
    // A slash could lead out of the folder.
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos) {
      refuse_tensors(path, fmt::format("tensor '{}' is not in a file beside this one", name));
    }
    files.insert(folder + file.get<std::string>());
  }
  return files;
}

TensorMap read_one(const std::string& path) {
  return path.ends_with(".safetensors") ? read_safetensors(path) : read_torch_file(path);
}

}  // namespace

TensorMap read_tensors(const std::string& path) {
  if (!path.ends_with(".index.json")) return read_one(path);
  TensorMap tensors;
  for (const std::string& file : indexed_files(path)) {
    for (auto& [name, tensor] : read_one(file)) {
      // Ignores which tensor weight_map puts in which file: each file lists its own.
      if (!tensors.emplace(name, std::move(tensor)).second) {
        refuse_tensors(file, fmt::format("tensor '{}' is in another file of {}, too", name, path));
      }
    }
  }
  return tensors;
}

}  // namespace dtl::trainer
