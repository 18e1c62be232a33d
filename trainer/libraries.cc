// Every library that dttrain links or loads has a row. oneDNN is loaded only when it is wanted, so
// it may be absent; its row says why.
#include "trainer/libraries.h"

#include <features.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/toml_file.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/gemm_bf16.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {

std::vector<Library> trainer_libraries() {
  std::vector<Library> libraries = {
      openblas_library(),
      onednn_library(),
      utf8proc_library(),
      crypto_library(),
      toml_library(),
      {"nlohmann-json", version_of(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                   NLOHMANN_JSON_VERSION_PATCH)}};
#ifdef DTL_MVEC_INSIDE  // glibc's vectors of mathematics, though the rest of glibc is the host's
  libraries.push_back({"libmvec", fmt::format("{}.{}", __GLIBC__, __GLIBC_MINOR__)});
#endif
  return libraries;
}

}  // namespace dtl::trainer
