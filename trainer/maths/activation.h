#pragma once
// The function between the two products of a layer's second half. kGelu is x Phi(x) by erf,
// kGeluTanh its approximation by tanh ("gelu_new"). In its own header, so that the kernels need not
// know config.json, where the names come from.

namespace dtl::trainer {

enum class Activation { kGelu, kGeluTanh, kRelu };

}  // namespace dtl::trainer
