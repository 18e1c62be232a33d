#pragma once
// Which Boost is inside, for --version -v.

#include "base/library.h"

namespace dtl {

Library boost_library();

}  // namespace dtl
