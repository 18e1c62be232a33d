#pragma once
// Descriptors for the connections of a communicator. The soft limit of many systems is 1,024, less
// than a large world needs, while the hard one is far higher. Programs that use select(2) fail
// above 1,023, so the limit is raised only as far as it must be. Thread-safe.

#include <cstddef>
#include <string>

namespace dtl::ring {

// Raises the soft limit where this process cannot open `more` descriptors and a few for itself.
// Throws CommError(DT_E_SYS) where the hard limit forbids that: "`attempted`: this process needs
// 700 descriptors, ...".
void provide_descriptors(std::size_t more, const std::string& attempted);

}  // namespace dtl::ring
