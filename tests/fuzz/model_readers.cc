// Readers of model files: tensors in each format, the index of several files, config.json.

#include "tests/fuzz/reader.h"
#include "tests/trainer/torch_bytes.h"
#include "trainer/families/model_config.h"
#include "trainer/files/tensor_files.h"
#include "trainer/layers/parameters.h"

namespace dtl::fuzz {
namespace {

using namespace trainer;

constexpr std::size_t kMostValuesPerByte = 16;  // limits how much views may share storages

void check_tensors(const TensorMap& tensors, std::size_t file_bytes) {
  std::size_t values = 0;
  for (const auto& [name, tensor] : tensors) {
    std::uint64_t count = 0;
    require(count_elements(tensor.shape, count), "a shape without a number of elements");
    require(tensor.values.size() == (tensor.whole_type.empty() ? count : 0),
            "the values do not fill their shape");
    values += tensor.values.size();
  }
  require(values <= kMostValuesPerByte * file_bytes, "more values than the file can hold");
}

Reader tensor_reader(const Folder& folder, const char* name, const std::string& file,
                     std::vector<std::string> seeds, std::vector<std::string> words) {
  return {name, std::move(seeds), std::move(words),
          [&folder, file](const std::string& bytes) {
            check_tensors(read_tensors(folder.write(file, bytes)), bytes.size());
          },
          names(folder.file(file))};
}

std::string safetensors(const std::string& header, std::size_t bytes) {
  return raw(static_cast<std::uint64_t>(header.size())) + header + std::string(bytes, '\x3F');
}

// An index may name any file beside it: here two real files, itself, and missing files.
Reader index_reader(const Folder& folder) {
  const std::string file = "m.safetensors.index.json";
  const std::string first =
      safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  const std::string second =
      safetensors(R"({"b":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}})", 4);
  folder.write("1.safetensors", first);
  folder.write("2.safetensors", second);
  const std::size_t beside = first.size() + second.size();
  return {
      "index.json",
      {R"({"metadata":{"total_size":12},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})",
       R"({"weight_map":{}})"},
      {"weight_map", "1.safetensors", "2.safetensors", file, "\"..\"", "\"\"", "null", "\\u0000"},
      [&folder, file, beside](const std::string& bytes) {
        check_tensors(read_tensors(folder.write(file, bytes)), bytes.size() + beside);
      },
      names(folder.path())};
}

void check_config(const ModelConfig& config) {
  require(config.hidden_size > 0 && config.heads > 0 && config.hidden_size % config.heads == 0,
          "heads that do not divide the hidden size");
  require(config.layers > 0 && config.vocab_size > 0 && config.max_positions > 0, "nothing inside");
  require(parameter_count(layout_parameters(config)) > 0, "no parameters");
}

Reader config_reader(const Folder& folder) {
  return {"config.json",
          {R"({"model_type":"bert","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,)"
           R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8,)"
           R"("hidden_act":"gelu_new","classifier_dropout":null,"id2label":{"0":"no","1":"yes"},)"
           R"("problem_type":"multi_label_classification","layer_norm_eps":1e-12})",
           R"({"model_type":"distilbert","dim":4,"n_layers":2,"n_heads":2,"hidden_dim":4,)"
           R"("activation":"relu","dropout":0.1,"num_labels":3,"sinusoidal_pos_embds":true})",
           R"({"model_type":"roberta","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,)"
           R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8,)"
           R"("type_vocab_size":1,"layer_norm_eps":1e-5,"pad_token_id":1,"bos_token_id":0})",
           R"({"model_type":"mpnet","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,)"
           R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8,)"
           R"("relative_attention_num_buckets":32,"pad_token_id":1})",
           R"({"model_type":"electra","vocab_size":9,"embedding_size":3,"hidden_size":4,)"
           R"("num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,)"
           R"("max_position_embeddings":8,"summary_type":"first","summary_use_proj":true})",
           R"({"model_type":"xlm-roberta","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,)"
           R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8})",
           R"({"model_type":"deberta-v2","hidden_size":4,"num_hidden_layers":1,"vocab_size":9,)"
           R"("num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":8,)"
           R"("relative_attention":true,"position_buckets":4,"norm_rel_ebd":"layer_norm",)"
           R"("share_att_key":true,"pos_att_type":"p2c|c2p","max_relative_positions":-1,)"
           R"("position_biased_input":false,"type_vocab_size":0,"pooler_hidden_act":"tanh"})",
           R"({"model_type":"modernbert","vocab_size":9,"pad_token_id":0,"hidden_size":4,)"
           R"("num_hidden_layers":2,"num_attention_heads":2,"intermediate_size":3,)"
           R"("local_attention":5,"global_attn_every_n_layers":2,"classifier_pooling":"mean",)"
           R"("layer_types":["full_attention","sliding_attention"],"norm_bias":true,)"
           R"("rope_parameters":{"full_attention":{"rope_type":"default","rope_theta":9.0}}})"},
          {"16777216",
           "2147483648",
           "-1",
           "1e999",
           "null",
           "true",
           "{}",
           "[]",
           "num_labels",
           "\"num_labels\":16777216,",
           "\"num_hidden_layers\":",
           "id2label",
           "type_vocab_size",
           "pad_token_id",
           "position_embedding_type",
           "qa_dropout",
           "seq_classif_dropout",
           "initializer_range",
           "[\"c2p\"]",
           "\"position_buckets\":2,",
           "cls_dropout",
           "legacy"},
          [&folder](const std::string& bytes) {
            folder.write("config.json", bytes);
            check_config(read_model_config(folder.path()));
          },
          names(folder.file("config.json"))};
}

}  // namespace

std::vector<Reader> model_readers(const Folder& folder) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("h":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
      R"("i":{"dtype":"I64","shape":[],"data_offsets":[22,30]}})";
  const std::vector<TorchTensor> tensors = {{"x", "FloatStorage", "0", 6, 1, {2, 2}, {3, 1}},
                                            {"y", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}},
                                            {"z", "FloatStorage", "1", 2, 0, {2}, {1}}};
  const Members storages = {{"0", float_bytes({0, 1, 2, 3, 4, 5})}, {"1", float_bytes({6, 7})}};
  const std::string pickle = pickled_state_dict(tensors);
  const std::vector<std::string> torch_words = {"PK\x01\x02",
                                                "PK\x03\x04",
                                                "PK\x05\x06",
                                                "PK\x06\x06",
                                                "PK\x06\x07",
                                                "archive/data.pkl",
                                                "archive/data/0",
                                                "torch._utils\n_rebuild_parameter\n",
                                                "ctorch\nHalfStorage\n",
                                                "ctorch\nLongStorage\n",
                                                "cos\nsystem\n",
                                                "\x8a\x09",
                                                "J\xFF\xFF\xFF\xFF",
                                                "\x8c\x01x",
                                                std::string(8, '\xFF'),
                                                std::string(4, '\x7F')};
  return {tensor_reader(folder, "safetensors", "m.safetensors", {safetensors(header, 30)},
                        {"F16", "F64", "BOOL", "\"shape\":", "\"dtype\":", "data_offsets",
                         "18446744073709551615", "4294967296", "-1", "[0,0]"}),
          tensor_reader(folder, "torch.archive", "pytorch_model.bin",
                        {torch_archive(pickle, storages)}, torch_words),
          tensor_reader(folder, "torch.old", "old.bin", {old_torch_file(pickle, storages)},
                        torch_words),
          index_reader(folder), config_reader(folder)};
}

}  // namespace dtl::fuzz
