// srun also reads options from SLURM_* variables. So srun_environment() removes these, and
// srun_arguments() sets every option that matters.
#include "launcher/schedulers/srun_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace dtl {
namespace {

constexpr SlurmVersion kFirstWithOverlap{20, 11};  // steps are exclusive from here on
constexpr SlurmVersion kFirstWithExternalLauncher{23, 11};

// srun finds the job by these, and sets them for its tasks.
constexpr std::array<std::string_view, 10> kOfTheJob = {
    "SLURM_CONF",          "SLURM_CONF_SERVER",  "SLURM_CLUSTER_NAME", "SLURM_CLUSTERS",
    "SLURM_RESTART_COUNT", "SLURM_NODE_ALIASES", "SLURM_JWT",          "SLURM_JOBID",
    "SLURM_SUBMIT_DIR",    "SLURM_SACK_JWKS",
};

bool is_slurms_own(std::string_view name) {
  const bool of_slurm = name.starts_with("SLURM_") || name.starts_with("SRUN_") ||
                        name.starts_with("SLURMD_") || name.starts_with("PMI_") ||
                        name.starts_with("PMIX_");
  if (!of_slurm) return false;
  // SLURM_JOB_* and SLURM_ARRAY_* identify the job; others belong to a step, a task or a script's
  // options.
  return !name.starts_with("SLURM_JOB_") && !name.starts_with("SLURM_ARRAY_") &&
         std::find(kOfTheJob.begin(), kOfTheJob.end(), name) == kOfTheJob.end();
}

}  // namespace

std::optional<SlurmVersion> parse_slurm_version(std::string_view text) {
  const std::string first = split(std::string(trim(text)), '\n')[0];
  if (!first.starts_with("slurm")) return std::nullopt;
  const std::vector<std::string> words = split(first, ' ');
  const std::vector<std::string> parts = split(words.back(), '.');
  // Year and month, as "22.05"; the rest does not matter.
  if (parts.size() < 2) return std::nullopt;
  const auto year = parse_integer(parts[0], 0, 99);
  const auto month = parse_integer(parts[1].substr(0, 2), 0, 12);
  if (!year || !month) return std::nullopt;
  return SlurmVersion{static_cast<int>(*year), static_cast<int>(*month)};
}

std::vector<std::string> srun_arguments(const SrunWish& wish) {
  std::vector<std::string> words = {wish.srun};
  const auto count = wish.nodes.size();
  const auto add = [&](std::string word) { words.push_back(std::move(word)); };
  if (wish.version >= kFirstWithExternalLauncher) add("--external-launcher");
  add(fmt::format("--nodes={}", count));
  add(fmt::format("--ntasks={}", count));
  add("--ntasks-per-node=1");
  // Without a list srun takes all nodes of the allocation, and the command line stays short.
  if (!wish.whole) add("--nodelist=" + join(wish.nodes, ","));
  if (wish.version >= kFirstWithOverlap) add("--overlap");  // beside other steps on these nodes
  // dtlaunch binds ranks, within all CPUs that the job has on their node.
  add("--cpu-bind=none");
  add("--mem-bind=none");
  // No plugin for MPI: our ranks do not use what it sets up.
  add("--mpi=none");
  // Agents' frames use their own connections. srun must not read dtlaunch's standard input.
  add("--input=none");
  add("--export=ALL");
  add("--chdir=/");  // every node has it
  // dtlaunch handles lost nodes and tasks that end early.
  add("--kill-on-bad-exit=0");
  add("--no-kill");
  add("--wait=0");
  add("--job-name=dtlaunch");
  words.insert(words.end(), wish.command.begin(), wish.command.end());
  return words;
}

Variables srun_environment(const Variables& own) {
  Variables kept;
  for (const auto& [name, value] : own) {
    // The agent takes SSH_CONNECTION for the connection to its host; ours belongs to the user's
    // login here.
    if (!is_slurms_own(name) && name != "SSH_CONNECTION") kept.emplace_back(name, value);
  }
  kept.emplace_back("SLURM_EXTERNAL_LAUNCHER", "1");  // unknown before 23.11
  return kept;
}

}  // namespace dtl
