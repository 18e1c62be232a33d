#pragma once
// Finds models that huggingface_hub has downloaded, if --model_name_or_path is a hub name and not a
// folder. Downloads nothing.

#include <string>

namespace dtl::trainer {

struct HubModel {
  std::string name;      // --model_name_or_path: a folder, or "org/name" of the hub
  std::string revision;  // a branch, a tag or a commit
  std::string cache;     // the hub's cache; empty: hub_cache_folder()
};

// huggingface_hub's cache folder: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
// XDG_CACHE_HOME/huggingface/hub, or ~/.cache/huggingface/hub.
std::string hub_cache_folder();

// The model's folder: `name` if it exists, else its snapshot in the cache. A snapshot may hold only
// some files, such as the tokenizer's. has_weights tells whether a folder has a model's weights.
// Throws Error(kBadInput) with the command that downloads the model.
std::string find_model(const HubModel& model, bool (*has_weights)(const std::string& folder));

}  // namespace dtl::trainer
