#pragma once
// Models that huggingface_hub has downloaded: where --model_name_or_path names one of the hub and
// not a folder. Nothing is downloaded here.

#include <string>

namespace dtl::trainer {

struct HubModel {
  std::string name;      // --model_name_or_path: a folder, or "org/name" of the hub
  std::string revision;  // a branch, a tag or a commit
  std::string cache;     // the hub's cache; empty: hub_cache_folder()
};

// Where huggingface_hub keeps what it has downloaded: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE,
// HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub, or ~/.cache/huggingface/hub.
std::string hub_cache_folder();

// The model's folder: `name` where that is there, else the snapshot in the cache. A snapshot has
// only what somebody has asked for, perhaps the tokenizer alone: has_weights says of a folder
// whether it can be read as a model. Throws Error(kBadInput) with the command that downloads it.
std::string find_model(const HubModel& model, bool (*has_weights)(const std::string& folder));

}  // namespace dtl::trainer
