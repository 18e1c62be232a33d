#pragma once
// The weights of a model, in any supported file format.

#include <string>

#include "trainer/files/tensor.h"

namespace dtl::trainer {

// `path` is a .safetensors file, the .index.json of several files, or a file that torch.save wrote.
// Integer tensors are left out. Throws Error(kBadInput) naming file and tensor.
TensorMap read_tensors(const std::string& path);

}  // namespace dtl::trainer
