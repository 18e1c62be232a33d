#pragma once
// What config.json keeps of a training besides the model: "dttrain_columns" and "dttrain_loss",
// which other programs ignore. Errors name file, place and key.

#include "trainer/families/model_config.h"
#include "trainer/families/model_family.h"

namespace dtl::trainer {

TextColumns read_columns(const ConfigKeys& keys);
// labels: of the model; a loss with weights has one for each.
HeadLoss read_head_loss(const ConfigKeys& keys, std::size_t labels);

// Empty if there is nothing to keep.
ConfigEntries columns_entries(const TextColumns& columns);
ConfigEntries head_loss_entries(const HeadLoss& loss);

}  // namespace dtl::trainer
