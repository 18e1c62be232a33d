#include "tests/support/folders.h"

namespace dtl::test {

std::string source_path(const std::string& path) {
  return DTL_SOURCE_FOLDER "/" + path;
}

std::string program_path(const std::string& name) {
  return DTL_PROGRAM_FOLDER "/" + name;
}

}  // namespace dtl::test
