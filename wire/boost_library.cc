// Compiled in: Boost.Asio is header-only, so the version of the headers is that of the code.
#include "wire/boost_library.h"

#include "wire/asio.h"

namespace dtl {

Library boost_library() {
  return {"Boost",
          version_of(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)};
}

}  // namespace dtl
