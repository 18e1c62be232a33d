// model_here FOLDER BATCH OUTPUT COPY: runs the model of FOLDER on one batch (JSON) without
// dropout, and writes its outputs, its mean loss and all gradients of that (safetensors, under the
// names of the model's own tensors). The model goes into the folder COPY.
//
// BATCH: {"task": "classification", "answers" or "tokens", "ids": [[..], ..], "types": the same
// shape, one of "labels": [..], "targets": [[..], ..], "answers": [[start, end], ..],
// "token_labels": the same shape as ids with -1 for none, "label_smoothing": 0.0,
// "focal_gamma": 0.0, "label_weights": [..], "pad_to": 0 (tokens), "threads": 1}. With pad_to
// answers are sought in padding, too.

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/families/task_head.h"
#include "trainer/maths/gemm.h"
#include "trainer/model/model.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

Examples read_examples(const Json& json) {
  Examples examples;
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
  config.task = task == "answers"  ? Task::kQuestionAnswering
                : task == "tokens" ? Task::kTokenClassification
                                   : Task::kClassification;
  return config;
}

// Fails when the folder lacks a tensor.
std::vector<float> load(const std::string& folder, const ModelConfig& config,
                        const ParameterLayout& layout) {
  const LoadedParameters loaded = load_parameters(folder, config, layout, {});
  if (!loaded.fresh.empty()) {
    throw Error(Exit::kBadInput, folder, "a tensor is missing: " + loaded.fresh.front());
  }
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

TensorMap run(const std::string& folder, const Json& json, const std::string& copy) {
  const ModelConfig config = config_of(folder, json);
  const Padding padding{.length = json.value("pad_to", 0), .token = config.pad_token_id};
  const LossSettings loss{.label_smoothing = json.value("label_smoothing", 0.0),
                          .qa_loss = QaLoss::kPadded,
                          .focal_gamma = json.value("focal_gamma", 0.0),
                          .label_weights = json.value("label_weights", std::vector<double>{})};
  const Examples examples = read_examples(json);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < examples.size(); ++i) all.push_back(i);
  const Batch batch = make_batch(examples, all, padding);
  ThreadPool pool(json.value("threads", 1), false);
  Model<float> model(config, pool, loss);
  const std::vector<float> parameters = load(folder, config, model.layout());
  write_model_config(copy, config);
  write_safetensors(copy + "/model.safetensors", tensors_of(model.layout(), parameters));
  const float* outputs = model.forward(parameters.data(), batch, nullptr);
  const std::int64_t columns = output_count(config);
  const std::int64_t rows = output_rows(config, batch);
  const Tensor output_tensor{{rows, columns}, {outputs, outputs + rows * columns}};
  std::vector<float> gradients(parameters.size());
  const double count = loss_terms(config, loss, examples, all);
  const double sum = model.backward(parameters.data(), batch, static_cast<float>(1 / count),
                                    gradients.data(), [](std::int64_t) {});
  TensorMap tensors = tensors_of(model.layout(), gradients);
  tensors["outputs"] = output_tensor;
  tensors["loss"] = {{1}, {static_cast<float>(sum / count)}};
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
