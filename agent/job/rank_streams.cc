// Our ends of a rank's pipes stay here until the guard reports that the rank has started: its
// output waits in the pipe, so Started is sent before any Output. The entry of a rank that failed
// to start stays until the agent ends.
#include "agent/job/rank_streams.h"

#include <fcntl.h>

#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

// Capacity of a rank's pipes, so that bursts do not make it wait. The kernel limits the sum of each
// user's pipes (pipe-user-pages-soft); beyond it pipes stay smaller.
constexpr int kPipeBytes = 256 << 10;

Fd duplicate_null(int flags) {
  Fd fd(::open("/dev/null", flags | O_CLOEXEC));
  if (!fd.valid()) throw system_error("/dev/null: cannot open");
  return fd;
}

Pipe make_rank_pipe() {
  Pipe pipe = make_pipe();
  ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, kPipeBytes);  // a smaller pipe works too
  return pipe;
}

}  // namespace

RankStreams::RankStreams(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                         Fd launchers_input, std::function<void(std::uint32_t)> all_read)
    : context_(context),
      tasks_(tasks),
      connection_(connection),
      launchers_input_(std::move(launchers_input)),
      all_read_(std::move(all_read)) {}

void RankStreams::open_input(std::uint32_t rank) {
  Streams& streams = ranks_[rank];
  if (launchers_input_.valid()) {
    streams.input_pipe = Fd(::fcntl(launchers_input_.get(), F_DUPFD_CLOEXEC, 3));
    if (!streams.input_pipe.valid()) throw system_error("cannot duplicate a descriptor");
    return;
  }
  Pipe pipe = make_pipe();
  streams.input_pipe = std::move(pipe.read_end);
  streams.input =
      std::make_unique<RankInput>(context_, connection_, rank, std::move(pipe.write_end));
  tasks_.spawn(streams.input->run());
}

void RankStreams::open(const RankSpec& rank, const std::string& job_id, SpawnFiles& files) {
  Pipe output = make_rank_pipe(), errors = make_rank_pipe();
  Streams& streams = ranks_[rank.rank];
  // A rank without input sees the end at once, as under nohup, instead of a closed descriptor.
  files[kStdinFd] = rank.wants_stdin ? std::move(streams.input_pipe) : duplicate_null(O_RDONLY);
  files[kStdoutFd] = std::move(output.write_end);
  files[kStderrFd] = std::move(errors.write_end);
  streams.open_outputs = 2;
  // One credit for both streams, as it limits the memory per rank.
  streams.credit = std::make_unique<RankCredit>(context_, connection_, rules_);
  streams.output =
      std::make_unique<RankOutput>(connection_, *streams.credit, rank.rank, Stream::kStdout,
                                   kept_file(rank.rank, job_id, ".out"));
  streams.errors =
      std::make_unique<RankOutput>(connection_, *streams.credit, rank.rank, Stream::kStderr,
                                   kept_file(rank.rank, job_id, ".err"));
  streams.output_pipe = std::move(output.read_end);
  streams.errors_pipe = std::move(errors.read_end);
}

std::unique_ptr<RankFile> RankStreams::kept_file(std::uint32_t rank, const std::string& job_id,
                                                 const char* ending) {
  if (rules_.log_directory.empty()) return nullptr;
  // Opened at the first write: a folder that cannot be created stops no rank.
  if (!kept_in_) kept_in_.emplace(rules_.log_directory, job_id);
  return std::make_unique<RankFile>(*kept_in_, "rank." + std::to_string(rank) + ending,
                                    open_rank_files_);
}

bool RankStreams::started(std::uint32_t rank) {
  const auto at = ranks_.find(rank);
  if (at == ranks_.end() || !at->second.output_pipe.valid()) return false;
  Streams& streams = at->second;
  tasks_.spawn(forward(*streams.output, std::move(streams.output_pipe), rank));
  tasks_.spawn(forward(*streams.errors, std::move(streams.errors_pipe), rank));
  return true;
}

awaitable<void> RankStreams::forward(RankOutput& output, Fd pipe, std::uint32_t rank) {
  co_await output.forward(context_, std::move(pipe));
  // Processes that the rank started may keep a pipe open after the rank has ended.
  if (--ranks_[rank].open_outputs == 0) all_read_(rank);
}

bool RankStreams::ended(std::uint32_t rank) {
  const auto at = ranks_.find(rank);
  if (at == ranks_.end()) return false;
  if (at->second.input) at->second.input->close();
  return true;
}

void RankStreams::give_input(const Stdin& message) {
  const auto at = ranks_.find(message.rank);
  // The rank may not want input, or may have ended while this was in flight.
  if (at != ranks_.end() && at->second.input) at->second.input->put(message);
}

void RankStreams::give_credit(const Credit& credit) {
  const auto at = ranks_.find(credit.rank);
  // The rank's input is opened before its output.
  if (at != ranks_.end() && at->second.credit) at->second.credit->give_back(credit.bytes);
}

void RankStreams::keep(std::uint32_t rank, std::string_view text) {
  ranks_[rank].errors->keep(text);
}

}  // namespace dtl
