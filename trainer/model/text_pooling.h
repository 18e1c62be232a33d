#pragma once
// One row for each text from its tokens' rows, forward and backward, as sentence-transformers'
// Pooling defines it. Padding is not pooled. One thread calls; the pool does the work.

#include <cstdint>

#include "trainer/families/embedding_config.h"
#include "trainer/layers/layer.h"

namespace dtl::trainer {

// hidden [T, H] -> [B, H] from the arena; for kCls hidden itself, which then has the first tokens
// only. kMax keeps the places of the largest numbers in *highest, [B, H].
template <class S>
const S* pool_texts(const Pass& pass, TextPooling pooling, const S* hidden, std::int32_t** highest);

// d [B, H] -> gradient at hidden, of its shape; that of padding is 0.
template <class S>
const S* pool_texts_backward(const Pass& pass, TextPooling pooling, const std::int32_t* highest,
                             const S* d);

}  // namespace dtl::trainer
