// The name is a hash of the digests and not of the files: the host checks it with sha256sum alone
// (kWhole in agent_command.cc).
#include "launcher/agents/bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/sha256.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
constexpr std::size_t kNameDigits = 16;  // of the hash: 64 bits

}  // namespace

std::shared_ptr<const Bundle> load_bundle(const std::string& folder, bool with_trainer) {
  auto bundle = std::make_shared<Bundle>();
  std::vector<std::string> names = {"dtagent", "dtguard"};
  // Only builds with libpmix have it, and only jobs of Open MPI need it.
  if (::access((folder + "/dtpmix").c_str(), R_OK) == 0) names.push_back("dtpmix");
  if (with_trainer) names.push_back("dttrain");
  // The order of the files is part of the hash, and is the same in kWhole.
  std::string sums;
  for (const std::string& name : names) {
    BundleFile file{name, {}, {}};
    try {
      file.bytes = read_file(folder + "/" + name, kMaxFileBytes);
    } catch (const Error& error) {
      throw Error(Exit::kConfig, fmt::format("--push: cannot send {}", name), error.what(),
                  "install it beside dtlaunch");
    }
    file.sha256 = sha256_hex(file.bytes);
    sums += file.sha256;
    bundle->files.push_back(std::move(file));
  }
  bundle->name = fmt::format("{}-{}{}", DTL_VERSION, sha256_hex(sums).substr(0, kNameDigits),
                             with_trainer ? "-dttrain" : "");
  return bundle;
}

bool runs_pushed_trainer(const std::vector<std::string>& command) {
  return !command.empty() && command[0] == "dttrain";
}

}  // namespace dtl
