#pragma once
// The version of Boost inside the programs, for --version -v.

#include "base/library.h"

namespace dtl {

Library boost_library();

}  // namespace dtl
