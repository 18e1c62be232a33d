// model_here FOLDER BATCH OUTPUT COPY: runs the model of FOLDER on one batch (JSON) without
// dropout, and writes its outputs, its mean loss and all gradients of that (safetensors, under the
// names of the model's own tensors). The model goes into the folder COPY.
//
// BATCH: {"task": "classification", "answers", "tokens", "choice", "masked" or "embeddings", "ids":
// [[..], ..], "types": the same shape, one of "labels": [..], "targets": [[..], ..], "answers":
// [[start, end], ..], "token_labels": the same shape as ids with -1 for none, "masked": [[row of
// all ids, original id], ..], "slopes": [[..], ..], "label_smoothing": 0.0, "focal_gamma": 0.0,
// "label_weights": [..], "texts": 1 (of an example), "pad_to": 0 (tokens), "bf16": false,
// "threads": 1}. With pad_to answers are sought in padding, too. The loss of embeddings is the sum
// of their products with the slopes. With "distances": N, the output is only the rows of DeBERTa's
// table for the distances 1 - N .. N - 1.

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/families/task_head.h"
#include "trainer/layers/distance_rows.h"
#include "trainer/maths/gemm.h"
#include "trainer/model/model.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

Examples read_examples(const Json& json) {
  Examples examples;
  examples.texts = json.value("texts", 1);
  examples.starts.push_back(0);
  for (const Json& row : json.at("ids")) {
    for (const Json& id : row) examples.ids.push_back(id.get<std::int32_t>());
    examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
  }
  for (const Json& row : json.at("types")) {
    for (const Json& type : row) examples.types.push_back(type.get<std::int8_t>());
  }
  examples.labels = json.value("labels", std::vector<std::int32_t>{});
  for (const Json& row : json.value("targets", Json::array())) {
    for (const Json& target : row) examples.targets.push_back(target.get<float>());
  }
  for (const Json& row : json.value("token_labels", Json::array())) {
    for (const Json& label : row) examples.token_labels.push_back(label.get<std::int32_t>());
  }
  for (const Json& answer : json.value("answers", Json::array())) {
    examples.answer_starts.push_back(answer.at(0).get<std::int32_t>());
    examples.answer_ends.push_back(answer.at(1).get<std::int32_t>());
  }
  return examples;
}

ModelConfig config_of(const std::string& folder, const Json& json) {
  ModelConfig config = read_model_config(folder);
  const std::string task = json.at("task").get<std::string>();
  config.task = task == "answers"      ? Task::kQuestionAnswering
                : task == "tokens"     ? Task::kTokenClassification
                : task == "choice"     ? Task::kMultipleChoice
                : task == "masked"     ? Task::kMaskedLm
                : task == "embeddings" ? Task::kEmbeddings
                                       : Task::kClassification;
  return config;
}

// Fails when the folder lacks a tensor, or has one that is not used.
std::vector<float> load(const std::string& folder, ModelConfig& config,
                        const ParameterLayout& layout) {
  LoadedParameters loaded = load_parameters(folder, config, layout, {});
  if (!loaded.fresh.empty()) {
    throw Error(Exit::kBadInput, folder, "a tensor is missing: " + loaded.fresh.front());
  }
  if (!loaded.unused.empty()) {
    throw Error(Exit::kBadInput, folder, "a tensor is not used: " + loaded.unused.front());
  }
  config.kept = std::make_shared<const TensorMap>(std::move(loaded.kept));
  return loaded.values;
}

// One flat array as tensors.
TensorMap tensors_of(const ParameterLayout& layout, const std::vector<float>& values) {
  TensorMap tensors;
  for (const ParameterInfo& info : layout.tensors) {
    const auto begin = values.begin() + info.offset;
    tensors[info.name] = {info.shape, {begin, begin + info.count}};
  }
  return tensors;
}

Batch batch_of(const Json& json, const ModelConfig& config, const Examples& examples,
               std::span<const std::int64_t> all) {
  const Padding padding{.length = json.value("pad_to", 0), .token = config.pad_token_id};
  Batch batch = make_batch(examples, all, padding);
  for (const Json& masked : json.value("masked", Json::array())) {
    batch.masked.push_back(masked.at(0).get<std::int64_t>());
    batch.originals.push_back(masked.at(1).get<std::int32_t>());
  }
  return batch;
}

struct Mean {
  double count = 1;           // of the loss's terms
  std::vector<float> slopes;  // of the outputs of embeddings
};

Mean mean_of(const Json& json, const ModelConfig& config, const LossSettings& loss,
             const Examples& examples, const Batch& batch, std::span<const std::int64_t> all) {
  if (config.task == Task::kMaskedLm) return {static_cast<double>(batch.masked.size()), {}};
  if (config.task != Task::kEmbeddings) return {loss_terms(config, loss, examples, all), {}};
  Mean mean;
  for (const Json& row : json.at("slopes")) {
    for (const Json& slope : row) mean.slopes.push_back(slope.get<float>());
  }
  return mean;
}

// The loss; adds its gradients.
double backward(Model<float>& model, const std::vector<float>& parameters, const Batch& batch,
                const Mean& mean, const float* outputs, std::vector<float>& gradients) {
  const auto ignore = [](std::int64_t) {};
  if (mean.slopes.empty()) {
    return model.backward(parameters.data(), batch, static_cast<float>(1 / mean.count),
                          gradients.data(), ignore) /
           mean.count;
  }
  double loss = 0;
  for (std::size_t i = 0; i < mean.slopes.size(); ++i) {
    loss += static_cast<double>(mean.slopes[i]) * static_cast<double>(outputs[i]);
  }
  model.backward_from(mean.slopes.data(), parameters.data(), batch, gradients.data(), ignore);
  return loss;
}

TensorMap distances(const ModelConfig& config, std::int64_t longest) {
  Tensor rows{{2 * longest - 1}, {}};
  for (std::int64_t distance = 1 - longest; distance < longest; ++distance) {
    rows.values.push_back(static_cast<float>(distance_row(config, distance)));
  }
  return {{"outputs", rows}};
}

TensorMap run(const std::string& folder, const Json& json, const std::string& copy) {
  ModelConfig config = config_of(folder, json);
  if (json.contains("distances")) return distances(config, json.at("distances"));
  const LossSettings loss{.label_smoothing = json.value("label_smoothing", 0.0),
                          .qa_loss = QaLoss::kPadded,
                          .focal_gamma = json.value("focal_gamma", 0.0),
                          .label_weights = json.value("label_weights", std::vector<double>{})};
  const Examples examples = read_examples(json);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < examples.size(); ++i) all.push_back(i);
  const Batch batch = batch_of(json, config, examples, all);
  ThreadPool pool(json.value("threads", 1), false);
  Model<float> model(config, pool, loss);
  const std::vector<float> parameters = load(folder, config, model.layout());
  save_model(copy, config, model.layout(), parameters);
  if (json.value("bf16", false)) model.set_precision(Precision::kBf16Emulated);
  const float* outputs = model.forward(parameters.data(), batch, nullptr);
  const bool masked = config.task == Task::kMaskedLm;
  const std::int64_t columns = masked ? config.vocab_size : output_count(config);
  const std::int64_t rows = masked ? std::ssize(batch.masked) : output_rows(config, batch);
  const Tensor output_tensor{{rows, columns}, {outputs, outputs + rows * columns}};
  std::vector<float> gradients(parameters.size());
  const Mean mean = mean_of(json, config, loss, examples, batch, all);
  const double value = backward(model, parameters, batch, mean, outputs, gradients);
  TensorMap tensors = tensors_of(model.layout(), gradients);
  tensors["outputs"] = output_tensor;
  tensors["loss"] = {{1}, {static_cast<float>(value)}};
  return tensors;
}

}  // namespace
}  // namespace dtl::trainer

int main(int argc, char** argv) {
  try {
    if (argc != 5) throw dtl::Error(dtl::Exit::kUsage, "model_here", "FOLDER BATCH OUTPUT COPY");
    dtl::trainer::prepare_gemm();
    const auto json = nlohmann::json::parse(std::ifstream(argv[2]));
    dtl::trainer::write_safetensors(argv[3], dtl::trainer::run(argv[1], json, argv[4]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_here: %s\n", error.what());
    return 1;
  }
}
