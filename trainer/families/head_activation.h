#pragma once
// The function after the dense layer of a head.

namespace dtl::trainer {

enum class HeadActivation { kTanh, kRelu, kGelu, kGeluTanh };

}  // namespace dtl::trainer
