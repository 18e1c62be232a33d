#pragma once
// The names that sentence-transformers has for modules and their settings, and those that tensors
// of dense modules have here. Pure.

#include <array>
#include <string>
#include <string_view>

#include "trainer/families/embedding_config.h"

namespace dtl::trainer {

constexpr std::string_view kTransformerModule = "Transformer", kPoolingModule = "Pooling",
                           kDenseModule = "Dense", kNormalizeModule = "Normalize";

// Keys of 1_Pooling/config.json until version 5; since 6, "pooling_mode" has the name.
struct OldPoolingKey {
  const char* key;
  TextPooling pooling;
};
constexpr std::array<OldPoolingKey, 6> kOldPoolingKeys = {{
    {"pooling_mode_cls_token", TextPooling::kCls},
    {"pooling_mode_mean_tokens", TextPooling::kMean},
    {"pooling_mode_max_tokens", TextPooling::kMax},
    {"pooling_mode_mean_sqrt_len_tokens", TextPooling::kMeanSqrtLength},
    {"pooling_mode_weightedmean_tokens", TextPooling::kWeightedMean},
    {"pooling_mode_lasttoken", TextPooling::kLastToken},
}};

std::string pooling_names();  // "cls, max, .."

// Of "activation_function": "torch.nn.modules.activation.Tanh".
std::string_view activation_name(DenseActivation activation);
bool activation_named(std::string_view name, DenseActivation& activation);
std::string activation_names();

// "dense.0."
std::string dense_prefix(int number);

}  // namespace dtl::trainer
