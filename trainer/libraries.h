#pragma once
// The libraries of others that dttrain uses, for --version -v. Asking loads oneDNN, where this
// CPU has a use for it.

#include <vector>

#include "base/library.h"

namespace dtl::trainer {

std::vector<Library> trainer_libraries();

}  // namespace dtl::trainer
