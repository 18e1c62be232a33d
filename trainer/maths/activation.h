#pragma once
// The functions between the two products of a layer's second half.

namespace dtl::trainer {

enum class Activation { kGelu, kGeluTanh, kRelu };

}  // namespace dtl::trainer
