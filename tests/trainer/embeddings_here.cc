// embeddings_here FOLDER CASES: runs models that make embeddings on a batch each, without dropout.
// CASES is a list of (JSON):
//   {"weights": "0.safetensors", "result": "0.result", "pooling": "mean", "dense": [{"outputs": 8,
//    "bias": true, "activation": "tanh"}], "normalize": false, "texts": [[[ids], ..], ..] (the
//    texts of each example), "targets": [..] (may be empty), "loss": {"kind": "ranking", "scale":
//    20, "symmetric": false, "margin": 5, "distance": "euclidean", "dimensions": [], "weights":
//    []}, "pad_to": 0 (tokens)}
// FOLDER has config.json and, for each case, the weights by the names of the model's tensors. The
// result has the outputs, the loss and the gradients of all tensors (safetensors).

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/files/safetensors.h"
#include "trainer/maths/gemm.h"
#include "trainer/model/model.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

template <class T>
T named(const Json& json, const char* key, const std::map<std::string, T>& names) {
  return names.at(json.at(key).get<std::string>());
}

EmbeddingConfig embedding_of(const Json& json) {
  EmbeddingConfig embedding;
  embedding.pooling = named<TextPooling>(json, "pooling",
                                         {{"cls", TextPooling::kCls},
                                          {"mean", TextPooling::kMean},
                                          {"max", TextPooling::kMax},
                                          {"mean_sqrt_len_tokens", TextPooling::kMeanSqrtLength},
                                          {"weightedmean", TextPooling::kWeightedMean},
                                          {"lasttoken", TextPooling::kLastToken}});
  for (const Json& layer : json.at("dense")) {
    const auto activation = named<DenseActivation>(layer, "activation",
                                                   {{"identity", DenseActivation::kIdentity},
                                                    {"tanh", DenseActivation::kTanh},
                                                    {"relu", DenseActivation::kRelu},
                                                    {"gelu", DenseActivation::kGelu},
                                                    {"sigmoid", DenseActivation::kSigmoid}});
    embedding.dense.push_back({layer.at("outputs"), layer.at("bias"), activation});
  }
  embedding.normalize = json.at("normalize");
  return embedding;
}

EmbeddingLossSettings loss_of(const Json& json) {
  EmbeddingLossSettings loss;
  loss.kind = named<EmbeddingLoss>(json, "kind",
                                   {{"ranking", EmbeddingLoss::kRanking},
                                    {"cosine", EmbeddingLoss::kCosine},
                                    {"cosent", EmbeddingLoss::kCosent},
                                    {"triplet", EmbeddingLoss::kTriplet}});
  loss.distance = named<TripletDistance>(json, "distance",
                                         {{"cosine", TripletDistance::kCosine},
                                          {"euclidean", TripletDistance::kEuclidean},
                                          {"manhattan", TripletDistance::kManhattan}});
  loss.scale = json.at("scale");
  loss.symmetric = json.at("symmetric");
  loss.margin = json.at("margin");
  loss.dimensions = json.at("dimensions").get<std::vector<int>>();
  loss.dimension_weights = json.at("weights").get<std::vector<double>>();
  return loss;
}

Examples examples_of(const Json& json) {
  Examples examples;
  examples.starts.push_back(0);
  for (const Json& example : json.at("texts")) {
    examples.texts = static_cast<std::int64_t>(example.size());
    for (const Json& text : example) {
      for (const Json& id : text) examples.ids.push_back(id.get<std::int32_t>());
      examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
    }
  }
  examples.types.resize(examples.ids.size());
  examples.targets = json.at("targets").get<std::vector<float>>();
  return examples;
}

std::vector<float> read_weights(const std::string& path, const ParameterLayout& layout) {
  const SafetensorsFile file(path);
  std::vector<float> values(static_cast<std::size_t>(layout.total));
  for (const ParameterInfo& tensor : layout.tensors) {
    const auto* entry = file.find(tensor.name);
    if (!entry || entry->shape != tensor.shape) {
      throw Error(Exit::kBadInput, path, tensor.name + " is missing or of another shape");
    }
    file.read(*entry, values.data() + tensor.offset);
  }
  return values;
}

TensorMap run(const std::string& folder, const Json& json) {
  ModelConfig config = read_model_config(folder);
  config.task = Task::kEmbeddings;
  config.embedding = embedding_of(json);
  const Examples examples = examples_of(json);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < examples.size(); ++i) all.push_back(i);
  const Batch batch =
      make_batch(examples, all, {.length = json.at("pad_to"), .token = config.pad_token_id});
  ThreadPool pool(2, false);
  Model<float> model(config, pool, {.embedding = loss_of(json.at("loss"))});
  const std::vector<float> parameters =
      read_weights(folder + "/" + json.at("weights").get<std::string>(), model.layout());
  const float* outputs = model.forward(parameters.data(), batch, nullptr);
  const std::int64_t rows = output_rows(config, batch), columns = output_count(config);
  TensorMap tensors;
  tensors["outputs"] = {{rows, columns}, {outputs, outputs + rows * columns}};
  std::vector<float> gradients(parameters.size());
  const double loss =
      model.backward(parameters.data(), batch, 1.0F, gradients.data(), [](std::int64_t) {});
  tensors["loss"] = {{1}, {static_cast<float>(loss)}};
  for (const ParameterInfo& info : model.layout().tensors) {
    const auto begin = gradients.begin() + info.offset;
    tensors[info.name] = {info.shape, {begin, begin + info.count}};
  }
  return tensors;
}

}  // namespace
}  // namespace dtl::trainer

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw dtl::Error(dtl::Exit::kUsage, "embeddings_here", "FOLDER CASES");
    const std::string folder = argv[1];
    dtl::trainer::prepare_gemm();
    for (const auto& json : nlohmann::json::parse(std::ifstream(argv[2]))) {
      dtl::trainer::write_safetensors(folder + "/" + json.at("result").get<std::string>(),
                                      dtl::trainer::run(folder, json));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embeddings_here: %s\n", error.what());
    return 1;
  }
}
