#include "launcher/step/srun_starter.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include "base/log.h"
#include "launcher/step/srun_command.h"
#include "launcher/streams/child.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kVersionPatience = 2s;  // for srun --version; without a slurm.conf it asks around

// nullopt without an answer in time.
std::optional<SlurmVersion> ask_version(const std::string& srun,
                                        const std::vector<std::string>& environment) {
  Child child = spawn_child({srun, "--version"}, ChildErrors::kPiped, environment);
  std::string text;
  pollfd waits{child.socket.get(), POLLIN, 0};
  const auto until = std::chrono::steady_clock::now() + kVersionPatience;
  for (char bytes[256];;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) <= 0) {
      ::kill(-child.pid, SIGKILL);
      log_verbose("srun --version has not answered in time");
      return std::nullopt;
    }
    const ssize_t count = ::read(child.socket.get(), bytes, sizeof bytes);
    if (count <= 0 || text.size() > 4096) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  pollfd process{child.process.get(), POLLIN, 0};
  ::poll(&process, 1, static_cast<int>(std::chrono::milliseconds(kVersionPatience).count()));
  return parse_slurm_version(text);
}

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
  wish.version = ask_version(wish.srun, made.environment);
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
