#pragma once
// What only DeBERTa-v2's config.json has. A plain value. The defaults leave another family's
// attention and embeddings as they are.
//
// Disentangled attention adds terms to each score q_i k_j that depend on the distance i - j, by a
// table of rows r that all layers share:
//   content to position: q_i (Wk r + bk);   position to content: k_j (Wq r + bq)
// and divides the sum by sqrt(D (1 + the number of terms)).

#include "trainer/families/head_activation.h"

namespace dtl::trainer {

struct DebertaConfig {
  bool relative = false;             // relative_attention: there is a table of distances
  bool content_to_position = false;  // pos_att_type
  bool position_to_content = false;
  bool shares_weights = false;     // share_att_key: Wk and Wq are those of the tokens
  int buckets = -1;                // position_buckets; -1: a row for each distance
  int max_distance = -1;           // max_relative_positions; -1: max_position_embeddings
  bool table_norm = false;         // norm_rel_ebd: a layer norm of the table's rows
  bool position_table = true;      // position_biased_input: rows added to the word embeddings
  bool legacy_masked_head = true;  // legacy: names of a masked language model's head
  HeadActivation pooler_activation = HeadActivation::kGelu;
  double pooler_dropout = 0;
  bool operator==(const DebertaConfig&) const = default;
};

inline int largest_distance(const DebertaConfig& config, int max_positions) {
  return config.max_distance > 0 ? config.max_distance : max_positions;
}
// Half of the table's rows.
inline int table_span(const DebertaConfig& config, int max_positions) {
  return config.buckets > 0 ? config.buckets : largest_distance(config, max_positions);
}
// The number of products that one score is the sum of.
inline int score_products(const DebertaConfig& config) {
  return 1 + (config.content_to_position ? 1 : 0) + (config.position_to_content ? 1 : 0);
}

}  // namespace dtl::trainer
