// The name is a hash of the digests and not of the files: the host checks it with sha256sum alone
// (kWhole in agent_command.cc).
#include "launcher/agents/bundle.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/sha256.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
constexpr std::size_t kNameDigits = 16;  // of the hash: 64 bits

std::string own_architecture() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "?";
}

// The name becomes part of a path and of a shell's command.
bool is_architecture(const std::string& name) {
  return !name.empty() && name.find_first_not_of(
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
                              std::string::npos;
}

std::vector<std::string> required_programs(bool with_trainer) {
  std::vector<std::string> names = {"dtagent", "dtguard"};
  if (with_trainer) names.emplace_back("dttrain");
  return names;
}

Bundle load_bundle(const std::string& folder, std::string architecture, bool with_trainer) {
  Bundle bundle;
  bundle.architecture = std::move(architecture);
  // The order of the files is part of the hash, and is the same in kWhole.
  std::vector<std::string> names = required_programs(with_trainer);
  // Only builds with libpmix have it, and only jobs of Open MPI need it.
  if (::access((folder + "/dtpmix").c_str(), R_OK) == 0) names.insert(names.begin() + 2, "dtpmix");
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
    bundle.files.push_back(std::move(file));
  }
  bundle.name = fmt::format("{}-{}{}", DTL_VERSION, sha256_hex(sums).substr(0, kNameDigits),
                            with_trainer ? "-dttrain" : "");
  return bundle;
}

}  // namespace

const Bundle* Bundles::find(const std::string& architecture) const {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Bundle& bundle) {
    return bundle.architecture == architecture;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string Bundles::missing_program(const std::string& architecture) const {
  std::string path = elsewhere + "/" + architecture + "/dtagent";
  if (!is_architecture(architecture)) return path;
  for (const std::string& name : required_programs(with_trainer)) {
    path = fmt::format("{}/{}/{}", elsewhere, architecture, name);
    if (::access(path.c_str(), R_OK) != 0) break;
  }
  return path;
}

std::shared_ptr<const Bundles> load_bundles(const std::string& folder, bool with_trainer) {
  auto bundles = std::make_shared<Bundles>();
  bundles->with_trainer = with_trainer;
  bundles->elsewhere = (fs::path(folder) / "../libexec/dtlaunch").lexically_normal();
  bundles->all.push_back(load_bundle(folder, own_architecture(), with_trainer));
  const std::vector<std::string> required = required_programs(with_trainer);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(bundles->elsewhere, ignored)) {
    std::string name = entry.path().filename();
    const std::string path = entry.path();
    const bool has_all =
        std::all_of(required.begin(), required.end(), [&](const std::string& program) {
          return ::access((path + "/" + program).c_str(), R_OK) == 0;
        });
    if (!has_all || !is_architecture(name) || bundles->find(name) != nullptr) continue;
    bundles->all.push_back(load_bundle(path, std::move(name), with_trainer));
  }
  return bundles;
}

bool runs_pushed_trainer(const std::vector<std::string>& command) {
  return !command.empty() && command[0] == "dttrain";
}

}  // namespace dtl
