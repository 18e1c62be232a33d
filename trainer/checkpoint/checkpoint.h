#pragma once
// A model folder as Hugging Face's from_pretrained reads it, in and out of a flat array of
// parameters. Rank 0's business. Failures are Errors that name file and tensor.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/files/safetensors.h"
#include "trainer/model/parameters.h"

namespace dtl::trainer {

struct LoadedParameters {
  std::vector<float> values;
  std::vector<std::string> fresh;   // not in the folder (or of another shape): newly initialised
  std::vector<std::string> unused;  // in the folder and not in the model
};

struct LoadOptions {
  std::uint64_t seed = 42;  // of fresh tensors
  bool ignore_mismatched_sizes = false;
};

// Throws Error(kBadInput) naming file and tensor for values that are infinite or no number.
void check_numbers(const std::string& path, const ParameterInfo& tensor,
                   std::span<const float> values);

// Whether the folder has a file that load_parameters() would read. Nothing is opened.
bool has_weights(const std::string& folder);

// Reads model.safetensors, pytorch_model.bin or the index.json of either's pieces. Only the head
// and BERT's pooler may be missing. Accepts encoders saved without the "bert." prefix, and
// LayerNorm.gamma and .beta.
LoadedParameters load_parameters(const std::string& folder, const ModelConfig& config,
                                 const ParameterLayout& layout, const LoadOptions& options);

// The same for tensors in memory; `origin` is what messages call them.
LoadedParameters arrange_parameters(TensorMap tensors, const std::string& origin,
                                    const ModelConfig& config, const ParameterLayout& layout,
                                    const LoadOptions& options);

// config.json and model.safetensors.
void save_model(const std::string& folder, const ModelConfig& config, const ParameterLayout& layout,
                const std::vector<float>& values);

// A run marks its output folder until it has ended well, so that the same command can be given
// again however early it was killed: what the folder holds is its own.
void mark_unfinished(const std::string& folder);
// When the job of dtlaunch that this process belongs to has marked it; nothing where it did not.
std::optional<std::filesystem::file_time_type> marked_by_this_job(const std::string& folder);
bool is_unfinished(const std::string& folder);
// A run has ended well there, and has left its model and its log.
bool holds_finished_run(const std::string& folder);
void mark_finished(const std::string& folder);

}  // namespace dtl::trainer
