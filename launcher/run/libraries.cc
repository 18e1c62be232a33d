// Each library's home says its version, at run time where the library can tell. nlohmann-json has
// no home in base and is headers only, so its macros are all there is.
#include "launcher/run/libraries.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/tls/psk_tls.h"
#include "base/toml_file.h"
#include "launcher/ssh/libraries.h"
#include "wire/boost_library.h"

namespace dtl {

std::vector<Library> launcher_libraries() {
  std::vector<Library> libraries = ssh_libraries();
  libraries.push_back(crypto_library());
  libraries.push_back(tls_library());
  libraries.push_back(boost_library());
  libraries.push_back(toml_library());
  libraries.push_back(
      {"nlohmann-json", version_of(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                   NLOHMANN_JSON_VERSION_PATCH)});
  return libraries;
}

}  // namespace dtl
