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

// The model's folder: `name` where that is there, else the snapshot in the cache. A snapshot has
// only what somebody has asked for, perhaps the tokenizer alone: has_weights says of a folder
// whether it can be read as a model. Throws Error(kBadInput) with the command that downloads it,
// or, for what looks like a folder's name, with the models in folders nearby.
std::string find_model(const HubModel& model, bool (*has_weights)(const std::string& folder));

}  // namespace dtl::trainer
