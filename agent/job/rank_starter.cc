// The guard gets two sealed memory files with each rank: the packed specification and the secret.
// Arguments and environment would show the secret to other users.
#include "agent/job/rank_starter.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "agent/guard/program_fault.h"
#include "agent/guard/spawn_spec.h"
#include "agent/node/memory_file.h"
#include "base/log.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

// Whether dtlaunch told the rank the width of the terminal that shows its output.
bool is_told_columns(const std::vector<std::string_view>& environment) {
  return std::any_of(environment.begin(), environment.end(),
                     [](std::string_view line) { return line.starts_with("DTLAUNCH_COLUMNS="); });
}

// Lets a program find out whether it writes into the displayed pipe or into one that a shell made.
std::string name_output(const SpawnFiles& files) {
  struct stat status = {};
  if (::fstat(files[kStdoutFd].get(), &status) != 0) return {};
  return fmt::format("DTLAUNCH_STDOUT={}:{}", status.st_dev, status.st_ino);
}

}  // namespace

RankStarter::RankStarter(const std::string& own_folder, const std::string& job_id, GuardLink& guard,
                         RankStreams& streams, RankWitness& witness, RankServices services,
                         std::function<void(const GuardReport&)> failed)
    : own_folder_(own_folder),
      job_id_(job_id),
      guard_(guard),
      streams_(streams),
      witness_(witness),
      services_(services),
      failed_(std::move(failed)) {}

void RankStarter::check(const Start& start) const {
  for (const RankSpec& rank : start.ranks) environments_.lines(rank.environment);
}

// Opens the rank's input now. Its other files are opened when the guard takes it, so that many
// starting ranks need few descriptors at once.
void RankStarter::spawn(const SpawnRank& spawn) {
  const std::uint32_t rank = spawn.spec.rank;
  try {
    if (spawn.spec.wants_stdin) streams_.open_input(rank);
    guard_.spawn(rank, [this, spawn] { return open_files(spawn); });
  } catch (const Error& error) {
    report_no_files(rank, error);
  }
}

std::optional<SpawnFiles> RankStarter::open_files(const SpawnRank& spawn) {
  try {
    return make_files(spawn);
  } catch (const Error& error) {
    streams_.drop_input(spawn.spec.rank);
    report_no_files(spawn.spec.rank, error);
    return std::nullopt;
  }
}

// As a report from the guard, so that a failed start is handled in one place.
void RankStarter::report_no_files(std::uint32_t rank, const Error& error) {
  log_error(error.what());
  GuardReport report;
  report.news = GuardNews::kSpawnFailed;
  report.rank = rank;
  report.stage = SpawnStage::kFiles;
  // Some errors have no number, and 0 would read as "Success".
  report.error_number = static_cast<std::uint32_t>(error.number() != 0 ? error.number() : EIO);
  failed_(report);
}

SpawnFiles RankStarter::make_files(const SpawnRank& spawn) {
  const RankSpec& spec = spawn.spec;
  SpawnFiles files;
  std::vector<std::string_view> environment = environments_.lines(spec.environment);
  if (services_.container.runs()) {
    environment = services_.container.merged(environment);
    files[kUserNamespaceFd] = services_.container.user_namespace();
    files[kMountNamespaceFd] = services_.container.mount_namespace();
  }
  const auto files_to_write = witness_.take_on(job_id_, spec.rank, environment);
  environment.insert(environment.end(), files_to_write.begin(), files_to_write.end());
  streams_.open(spec, job_id_, files);
  files[kPmiSourceFd] = services_.pmi.open(spec.rank);
  services_.pmix.add_variables(spec.rank, environment);
  const std::string output = is_told_columns(environment) ? name_output(files) : "";
  if (!output.empty()) environment.push_back(output);
  std::vector<std::string>& programs = programs_[spec.rank];
  programs = program_candidates(spec, environment, own_folder_);
  files[kSpecFd] = sealed_memory_file("dtl-rank", pack_spawn_spec(spec, environment, programs));
  for (std::string& program : programs) {
    // For explained(), which runs in the agent's folder, not in the rank's.
    program = std::filesystem::path(spec.working_directory) / program;
  }
  files[kSecretSourceFd] = sealed_memory_file("dtl-secret", spawn.secret);
  return files;
}

SpawnFailed RankStarter::explained(SpawnFailed failed) const {
  if (services_.container.runs()) {
    // Its file is not one of this host.
    const bool absent = failed.stage == stage_name(SpawnStage::kExec) &&
                        failed.error_number == static_cast<std::uint32_t>(ENOENT);
    if (absent) failed.reason = "it is not in the container";
    return failed;
  }
  const auto at = programs_.find(failed.rank);
  const bool refused = failed.stage == stage_name(SpawnStage::kInterpreter) ||
                       (failed.stage == stage_name(SpawnStage::kExec) &&
                        failed.error_number == static_cast<std::uint32_t>(ENOEXEC));
  if (at == programs_.end() || !refused) return failed;
  for (const std::string& program : at->second) {
    // The first executable candidate is the one that the kernel refused; find out why.
    if (::access(program.c_str(), X_OK) != 0) continue;
    const ProgramFault fault = find_program_fault(program);
    // The launcher has a specific hint for each of these stages.
    if (!fault.stage.empty()) failed.stage = fault.stage;
    failed.reason = fault.reason.substr(0, kMaxNameBytes);
    break;
  }
  return failed;
}

}  // namespace dtl
