#pragma once
// The weights of a model, whatever files they are in.

#include <string>

#include "trainer/files/tensor.h"

namespace dtl::trainer {

// `path` is a .safetensors file, the .index.json of several files, or else a file that torch.save
// wrote. Tensors of whole numbers are left out. Throws Error(kBadInput) naming file and tensor.
TensorMap read_tensors(const std::string& path);

}  // namespace dtl::trainer
