// What a rank is started with, and where its input comes from.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "agent/guard/program_fault.h"
#include "agent/guard/spawn_spec.h"
#include "agent/job/session.h"
#include "agent/node/memory_file.h"
#include "base/error.h"
#include "base/log.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

// A rank's pipes hold this much: bursts do not make it wait, and 200 ranks stay below the kernel's
// limit per user.
constexpr int kPipeBytes = 256 << 10;

Fd duplicate_null(int flags) {
  Fd fd(::open("/dev/null", flags | O_CLOEXEC));
  if (!fd.valid()) throw system_error("cannot open /dev/null");
  return fd;
}

Pipe make_rank_pipe() {
  Pipe pipe = make_pipe();
  ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, kPipeBytes);  // a smaller pipe works too
  return pipe;
}

}  // namespace

// A rank's input is taken from here on, its other files are opened when the guard takes it: many
// ranks that start at once need few descriptors at once.
void AgentSession::spawn(const SpawnRank& spawn) {
  const std::uint32_t rank = spawn.spec.rank;
  try {
    if (spawn.spec.wants_stdin) open_input(rank);
    guard_.spawn(rank, [this, spawn] { return open_files(spawn); });
  } catch (const Error& error) {
    no_files(rank, error);
  }
}

void AgentSession::open_input(std::uint32_t rank) {
  RankStreams& streams = streams_[rank];
  if (launchers_input_.valid()) {
    streams.input_pipe = Fd(::fcntl(launchers_input_.get(), F_DUPFD_CLOEXEC, 3));
    if (!streams.input_pipe.valid()) throw system_error("cannot duplicate a descriptor");
    return;
  }
  Pipe pipe = make_pipe();
  streams.input_pipe = std::move(pipe.read_end);
  streams.input =
      std::make_unique<RankInput>(context_, connection_, rank, std::move(pipe.write_end));
  tasks_.spawn(feed_input(rank));
}

std::optional<SpawnFiles> AgentSession::open_files(const SpawnRank& spawn) {
  try {
    return make_files(spawn);
  } catch (const Error& error) {
    streams_[spawn.spec.rank].input_pipe = Fd();
    no_files(spawn.spec.rank, error);
    return std::nullopt;
  }
}

void AgentSession::no_files(std::uint32_t rank, const Error& error) {
  log_error(error.what());
  GuardReport report;
  report.news = GuardNews::kSpawnFailed;
  report.rank = rank;
  report.stage = SpawnStage::kFiles;
  report.error_number = static_cast<std::uint32_t>(error.number() != 0 ? error.number() : EIO);
  feed(report);
}

SpawnFiles AgentSession::make_files(const SpawnRank& spawn) {
  const RankSpec& spec = spawn.spec;
  Pipe output = make_rank_pipe(), errors = make_rank_pipe();
  RankStreams& streams = streams_[spec.rank];
  SpawnFiles files;
  if (!witness_) witness_.emplace(job_id_);
  std::vector<std::string_view> environment = environments_.lines(spec.environment);
  const auto files_to_write = witness_->file_variables(spec.rank, environment);
  environment.insert(environment.end(), files_to_write.begin(), files_to_write.end());
  if (spec.rank == 0) meeting_.emplace(environment);
  streams.programs = program_candidates(spec, environment, own_folder_);
  files[kSpecFd] =
      sealed_memory_file("dtl-rank", pack_spawn_spec(spec, environment, streams.programs));
  for (std::string& program : streams.programs) {
    program = std::filesystem::path(spec.working_directory) / program;
  }
  files[kSecretSourceFd] = sealed_memory_file("dtl-secret", spawn.secret);
  files[kStdinFd] = spec.wants_stdin ? std::move(streams.input_pipe) : duplicate_null(O_RDONLY);
  files[kStdoutFd] = std::move(output.write_end);
  files[kStderrFd] = std::move(errors.write_end);
  streams.open_outputs = 2;
  streams.credit = std::make_unique<RankCredit>(context_, connection_, rules_);
  streams.output = std::make_unique<RankOutput>(connection_, *streams.credit, spec.rank,
                                                Stream::kStdout, kept_file(spec.rank, ".out"));
  streams.errors = std::make_unique<RankOutput>(connection_, *streams.credit, spec.rank,
                                                Stream::kStderr, kept_file(spec.rank, ".err"));
  streams.output_pipe = std::move(output.read_end);
  streams.errors_pipe = std::move(errors.read_end);
  return files;
}

// Adds why the kernel refused the program, if the file shows it: errno alone says too little.
SpawnFailed AgentSession::explained(SpawnFailed failed) {
  const auto at = streams_.find(failed.rank);
  const bool refused = failed.stage == stage_name(SpawnStage::kInterpreter) ||
                       (failed.stage == stage_name(SpawnStage::kExec) &&
                        failed.error_number == static_cast<std::uint32_t>(ENOEXEC));
  if (at == streams_.end() || !refused) return failed;
  for (const std::string& program : at->second.programs) {
    if (::access(program.c_str(), X_OK) != 0) continue;
    const ProgramFault fault = find_program_fault(program);
    if (!fault.stage.empty()) failed.stage = fault.stage;
    failed.reason = fault.reason.substr(0, kMaxNameBytes);
    break;
  }
  return failed;
}

std::unique_ptr<RankFile> AgentSession::kept_file(std::uint32_t rank, const char* ending) {
  if (rules_.log_directory.empty()) return nullptr;
  if (!kept_in_) kept_in_.emplace(rules_.log_directory, job_id_);
  return std::make_unique<RankFile>(*kept_in_, "rank." + std::to_string(rank) + ending,
                                    open_rank_files_);
}

void AgentSession::give_input(const Stdin& message) {
  const auto at = streams_.find(message.rank);
  if (at != streams_.end() && at->second.input) at->second.input->put(message);
}

}  // namespace dtl
