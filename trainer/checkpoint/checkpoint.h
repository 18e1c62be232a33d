#pragma once
// Reads and writes a model folder as Hugging Face's from_pretrained does, from and to a flat array
// of parameters. Only rank 0 uses it. Errors name file and tensor.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/files/safetensors.h"
#include "trainer/layers/parameters.h"

namespace dtl::trainer {

struct LoadedParameters {
  std::vector<float> values;
  std::vector<std::string> fresh;   // missing or of another shape: newly initialised
  std::vector<std::string> unused;  // in the folder but not in the model
  // Of an encoder for embeddings: BERT's pooler, which they do not use. Its names lack the prefix.
  TensorMap kept = {};
};

struct LoadOptions {
  std::uint64_t seed = 42;  // for fresh tensors
  bool ignore_mismatched_sizes = false;
};

// Throws Error(kBadInput) naming file and tensor for infinities and NaN.
void check_numbers(const std::string& path, const ParameterInfo& tensor,
                   std::span<const float> values);

// Whether the folder has a file that load_parameters() would read. Opens no file.
bool has_weights(const std::string& folder);

// Reads model.safetensors, pytorch_model.bin, or all files of an index.json, and the dense modules
// of a model of embeddings. Only the head and BERT's pooler may be missing. Accepts encoders
// without the "bert." prefix, and the names LayerNorm.gamma and .beta.
LoadedParameters load_parameters(const std::string& folder, const ModelConfig& config,
                                 const ParameterLayout& layout, const LoadOptions& options);

// The same for tensors in memory. Messages call them `origin`.
LoadedParameters arrange_parameters(TensorMap tensors, const std::string& origin,
                                    const ModelConfig& config, const ParameterLayout& layout,
                                    const LoadOptions& options);

// Writes config.json and model.safetensors; of a model of embeddings a folder of
// sentence-transformers (embeddings/sentence_folder.h).
void save_model(const std::string& folder, const ModelConfig& config, const ParameterLayout& layout,
                const std::vector<float>& values);

// Marks an output folder until the run ends well. The same command may then use the folder again,
// however early the run was killed: all files in it are its own.
void mark_unfinished(const std::string& folder);
// When this dtlaunch job marked the folder; nothing if it did not.
std::optional<std::filesystem::file_time_type> marked_by_this_job(const std::string& folder);
bool is_unfinished(const std::string& folder);
// Whether a run ended well there and left its model and log.
bool holds_finished_run(const std::string& folder);
void mark_finished(const std::string& folder);

}  // namespace dtl::trainer
