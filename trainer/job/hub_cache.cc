// The layout of the cache is huggingface_hub's: models--ORG--NAME/refs/BRANCH holds a commit, and
// models--ORG--NAME/snapshots/COMMIT the files, as links.
#include "trainer/job/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Expands "~" as huggingface_hub does. A Dockerfile's ENV keeps it.
std::string folder_in(const char* name) {
  const std::string folder = variable(name);
  return folder.starts_with("~/") ? variable("HOME") + folder.substr(1) : folder;
}

bool is_word_of_hub(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !word.empty() && word[0] != '.' && word[0] != '-' &&
         std::all_of(word.begin(), word.end(), is_plain);
}

// "bert-base-uncased", "google-bert/bert-base-uncased"
bool is_name_of_hub(const std::string& name) {
  const auto words = split(name, '/');
  return words.size() <= 2 && std::all_of(words.begin(), words.end(), [](const std::string& word) {
           return is_word_of_hub(word);
         });
}

std::string folder_of(const std::string& cache, const std::string& name) {
  std::string folder = cache + "/models";
  for (const std::string& word : split(name, '/')) folder += "--" + word;
  return folder;
}

// A revision that is not a branch or tag in the cache is a commit.
std::string snapshot_of(const std::string& folder, const std::string& revision) {
  std::string commit;
  std::ifstream ref(folder + "/refs/" + revision);
  if (!(ref >> commit)) commit = revision;
  return folder + "/snapshots/" + commit;
}

std::string download_command(const HubModel& model) {
  std::string command = "hf download " + model.name;
  if (model.revision != "main") command += " --revision " + one_shell_word(model.revision);
  if (!model.cache.empty()) command += " --cache-dir " + one_shell_word(model.cache);
  return command;
}

// By its name alone one of the hub's: "google-bert/bert-base-uncased", or one of the old names
// without an organisation, such as "bert-base-uncased". Not "out/model" beside a folder "out".
bool looks_like_hub(const std::string& name) {
  if (!is_name_of_hub(name)) return false;
  if (name.find('/') == name.npos) {
    return name.starts_with("bert-") || name.starts_with("distilbert-");
  }
  constexpr std::array<std::string_view, 12> kUsualFolders = {
      "checkpoint", "checkpoints", "data", "model", "models", "out",
      "output",     "outputs",     "run",  "runs",  "save",   "tmp"};
  const std::string first = name.substr(0, name.find('/'));
  std::error_code unreadable;
  return !fs::exists(first, unreadable) &&
         std::find(kUsualFolders.begin(), kUsualFolders.end(), first) == kUsualFolders.end();
}

// The folders in `folder` that hold a model, and those one level further down, by name.
std::vector<std::string> models_below(const fs::path& folder, int levels) {
  constexpr std::size_t kMostSeen = 1000;  // of a folder that holds a data set in small files
  std::vector<std::string> found;
  std::error_code unreadable;
  fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, unreadable), end;
  for (std::size_t seen = 0; !unreadable && it != end && seen < kMostSeen; ++seen) {
    const fs::path path = folder / it->path().filename();
    if (fs::exists(path / "config.json", unreadable)) found.push_back(path.string());
    if (levels > 1 && it->is_directory(unreadable)) {
      const std::vector<std::string> inner = models_below(path, levels - 1);
      found.insert(found.end(), inner.begin(), inner.end());
    }
    it.increment(unreadable);
  }
  std::sort(found.begin(), found.end());
  return found;
}

[[noreturn]] void refuse_folder(const std::string& name) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<std::string> near = models_below(fs::path(name).parent_path(), 2);
  std::string reason = "there is no such folder";
  if (near.empty()) {
    reason +=
        "; a model's folder holds config.json, model.safetensors, and tokenizer.json or "
        "vocab.txt";
    throw Error(Exit::kBadInput, name + ": cannot use this model", reason, "dttrain init --help");
  }
  const std::size_t shown = std::min(near.size(), kMostNamed);
  reason += ", but there is " + join(std::span(near).first(shown), ", ");
  if (near.size() > kMostNamed) reason += fmt::format(" and {} more", near.size() - kMostNamed);
  const std::string meant = nearest(name, near);
  throw Error(Exit::kBadInput, name + ": cannot use this model", reason,
              "--model_name_or_path " + one_shell_word(meant.empty() ? near.front() : meant));
}

}  // namespace

std::string hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string folder = folder_in(name); !folder.empty()) return folder;
  }
  if (const std::string home = folder_in("HF_HOME"); !home.empty()) return home + "/hub";
  if (const std::string caches = folder_in("XDG_CACHE_HOME"); !caches.empty()) {
    return caches + "/huggingface/hub";
  }
  return variable("HOME") + "/.cache/huggingface/hub";
}

std::string find_model(const HubModel& model, bool (*has_weights)(const std::string& folder)) {
  std::error_code unreadable;
  // A folder without search permission counts as present: reading config.json reports the cause.
  const fs::file_status status = fs::status(model.name, unreadable);
  if (status.type() != fs::file_type::not_found) return model.name;
  if (!is_name_of_hub(model.name)) refuse_folder(model.name);
  const std::string cache = model.cache.empty() ? hub_cache_folder() : model.cache;
  const std::string snapshot = snapshot_of(folder_of(cache, model.name), model.revision);
  const bool known = fs::exists(snapshot + "/config.json", unreadable);
  if (known && has_weights(snapshot)) return snapshot;
  if (known) {
    throw Error(Exit::kBadInput, model.name + ": cannot use this model",
                fmt::format("{} has no weights of it; dttrain downloads nothing", snapshot),
                download_command(model));
  }
  if (!looks_like_hub(model.name)) refuse_folder(model.name);
  throw Error(Exit::kBadInput, model.name + ": cannot use this model",
              fmt::format("there is no such folder, and the hub's cache {} does not have it "
                          "(revision {}); dttrain downloads nothing",
                          cache, model.revision),
              download_command(model));
}

}  // namespace dtl::trainer
