// The build tree and an installation have the same layout: bin and libexec side by side.
#include "launcher/run/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/foreign_program.h"

namespace dtl {

std::string names_folder(const std::string& program_directory) {
  namespace fs = std::filesystem;
  const fs::path self = fs::path(program_directory) / "dtlaunch";
  const fs::path folder =
      (fs::path(program_directory) / "../libexec/dtlaunch/names").lexically_normal();
  const auto names = foreign_programs();
  // A link that leads to another dtlaunch would run another version than the one that was asked.
  const bool complete = std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    std::error_code failed;
    return fs::equivalent(folder / name, self, failed) && !failed;
  });
  if (!complete) {
    throw Error(Exit::kOs, "--names",
                fmt::format("{} has no links to this dtlaunch", printable(folder.string())),
                fmt::format("ln -s {} torchrun, in a folder of your own; the same for {}",
                            one_shell_word(self.string()), fmt::join(names.first(3), ", ")));
  }
  if (folder.string().find(':') != std::string::npos) {
    throw Error(Exit::kOs, "--names",
                fmt::format("PATH splits {} at ':'", printable(folder.string())),
                "ln -s " + one_shell_word(folder.string()) + " ~/names");
  }
  return folder.string();
}

}  // namespace dtl
