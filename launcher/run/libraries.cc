// Each library's own room gives its version, at run time if possible. nlohmann-json is header-only
// and has no room in base, so only its macros give the version.
#include "launcher/run/libraries.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/tls/psk_tls.h"
#include "base/toml_file.h"
#include "launcher/history/database.h"
#include "launcher/ssh/libraries.h"
#include "wire/boost_library.h"

namespace dtl {

std::vector<Library> launcher_libraries() {
  std::vector<Library> libraries = ssh_libraries();
  libraries.push_back(crypto_library());
  libraries.push_back(tls_library());
  libraries.push_back(boost_library());
  libraries.push_back(sqlite_library());
  libraries.push_back(toml_library());
  libraries.push_back(
      {"nlohmann-json", version_of(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                   NLOHMANN_JSON_VERSION_PATCH)});
  return libraries;
}

}  // namespace dtl
