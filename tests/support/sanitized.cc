#include "tests/support/sanitized.h"

namespace dtl::test {

bool sanitized() {
#ifdef DTL_SANITIZED
  return true;
#else
  return false;
#endif
}

}  // namespace dtl::test
