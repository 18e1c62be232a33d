#include "launcher/step/srun_starter.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/step/srun_command.h"
#include "launcher/step/srun_version.h"

namespace dtl {
namespace {

// Of which the nodes read it themselves: Slurm may hand variables on unencrypted.
bool names_token_file(const Variables& environment) {
  return std::any_of(environment.begin(), environment.end(), [](const auto& each) {
    return each.first == "DTL_TOKEN_FILE" && !each.second.empty();
  });
}

}  // namespace

StarterCommands SrunStarter::commands(const std::vector<std::string>& nodes, int port,
                                      const std::string& token) {
  StarterCommands made;
  made.environment = entries_of(srun_environment(options_.environment));
  SrunWish wish;
  wish.srun = options_.srun;
  wish.nodes = nodes;
  wish.whole = options_.whole;
  wish.version = version_of_srun(wish.srun, made.environment);
  wish.command = options_.command;
  wish.command.push_back(std::to_string(port));
  if (!options_.beside.empty()) wish.command.push_back(options_.beside);
  made.commands.push_back(srun_arguments(wish));
  if (!names_token_file(options_.environment)) made.environment.push_back("DTL_TOKEN=" + token);
  return made;
}

std::string SrunStarter::hint(const Host& host) const {
  return fmt::format("srun --overlap -N 1 -n 1 -w {} hostname", host.name);
}

}  // namespace dtl
