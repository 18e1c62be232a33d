// One line for the job, however many programs it has.
#include "launcher/request/encryption.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"

namespace dtl {
namespace {

constexpr std::string_view kEncryptVariable = "DTRING_ENCRYPT";  // libdtring reads it

}  // namespace

void encrypt(Request& request, std::vector<std::string>& notices) {
  Variables& set = request.environment.set;
  for (const auto& [name, value] : set) {
    if (name != kEncryptVariable || value == "1") continue;
    throw option_error("--encrypt", fmt::format("{}={} is set as well", name, value),
                       fmt::format("--encrypt, without {}", name));
  }
  set.emplace_back(kEncryptVariable, "1");
  for (const Program& program : request.programs) {
    if (program.command.empty()) continue;
    const std::string& name = program.command[0];
    const std::string_view last = std::string_view(name).substr(name.rfind('/') + 1);
    // These programs send everything between ranks through libdtring.
    if (last == "dttrain" || last == "dtring-perf") continue;
    notices.push_back(
        fmt::format("--encrypt covers what libdtring carries; what {} sends by itself, or by gloo, "
                    "MPI or a store of PyTorch's, goes as before",
                    last));
    return;
  }
}

}  // namespace dtl
