// The table of families. Each family's details are in its own file.
#include "trainer/families/model_family.h"

#include <array>
#include <cstddef>

#include "base/text.h"

namespace dtl::trainer {
namespace {

// Indexed by ModelType.
constexpr std::array kFamilies = {&kBertFamily,       &kDistilBertFamily, &kRobertaFamily,
                                  &kXlmRobertaFamily, &kCamembertFamily,  &kElectraFamily,
                                  &kMPNetFamily,      &kDebertaV2Family,  &kModernBertFamily};

}  // namespace

const ModelFamily& family_of(ModelType type) {
  return *kFamilies.at(static_cast<std::size_t>(type));
}

MaskedHeadNames masked_head_names_of(const ModelConfig& config) {
  const ModelFamily& family = family_of(config);
  if (family.masked_head) return family.masked_head(config);
  return {family.tensors.masked_dense, family.tensors.masked_norm, family.tensors.masked_output};
}

int first_position(const ModelConfig& config) {
  const ModelFamily& family = family_of(config);
  return family.first_position ? family.first_position(config) : 0;
}

bool is_pre_norm(const ModelConfig& config) {
  return family_of(config).layer_kind == LayerKind::kPreNorm;
}

Activation always_gelu(const ModelConfig&) {
  return Activation::kGelu;
}

Activation masked_activation(const ModelConfig& config) {
  const ModelFamily& family = family_of(config);
  return family.masked_activation ? family.masked_activation(config) : config.activation;
}

int longest_text(const ModelConfig& config) {
  return config.max_positions - first_position(config);
}

std::optional<ModelType> type_named(std::string_view name) {
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    if (kFamilies[i]->name == name) return static_cast<ModelType>(i);
  }
  return std::nullopt;
}

std::string known_types(std::string_view separator) {
  std::vector<std::string> names;
  for (const ModelFamily* family : kFamilies) names.emplace_back(family->name);
  return join(names, separator);
}

}  // namespace dtl::trainer
