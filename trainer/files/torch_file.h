#pragma once
// Reads a state dict that torch.save wrote: the zip archive of torch 1.6 and later, or the older
// format. It runs no code: pickle.h knows tensors, dictionaries and plain values, and refuses every
// other name.

#include <string>

#include "trainer/files/tensor.h"

namespace dtl::trainer {

// Leaves out integer tensors and entries that are not tensors. Resolves views (transposed, sliced,
// shared). Throws Error(kBadInput) naming the file and the tensor, or the name that the pickle
// wanted to call.
TensorMap read_torch_file(const std::string& path);

}  // namespace dtl::trainer
