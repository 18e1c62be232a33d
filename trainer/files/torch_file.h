#pragma once
// Reads what torch.save wrote of a state dict, the zip archive of torch 1.6 and later as well as
// the older file, without running anything: the pickle inside is interpreted by a machine that
// knows tensors, dictionaries and plain values, and refuses every other name.

#include <string>

#include "trainer/files/tensor.h"

namespace dtl::trainer {

// Tensors of whole numbers and other kinds of entries are left out. Views (transposed, sliced,
// shared) are resolved. Throws Error(kBadInput) naming the file and the tensor, or the name that
// the pickle wanted to call.
TensorMap read_torch_file(const std::string& path);

}  // namespace dtl::trainer
