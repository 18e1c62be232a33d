// A carrier forwards standard input and output as ssh does, so a local child is the whole stream.
// This file adds a deadline for a carrier that never reaches the host, and a buffer for bytes that
// were read ahead.
#include "launcher/agents/carried_agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/machine/find_program.h"
#include "base/machine/process_handle.h"
#include "base/text.h"
#include "launcher/agents/agent_command.h"
#include "launcher/streams/child.h"
#include "launcher/streams/local_stream.h"
#include "wire/deadline.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

class CarriedStream final : public AgentStream {
 public:
  CarriedStream(std::unique_ptr<AgentStream> stream, ProcessHandle process)
      : stream_(std::move(stream)), process_(std::move(process)) {}

  awaitable<std::string> read() override {
    if (!received_.empty()) co_return std::exchange(received_, {});
    co_return co_await stream_->read();
  }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override { stream_->close(); }
  std::string standard_error() const override { return stream_->standard_error(); }
  std::string ending() const override { return stream_->ending(); }

  // Gives bytes back: the next read() returns them.
  void unread(std::string bytes) { received_ = std::move(bytes); }
  // A carrier ends with its agent. Before there is an agent, nobody else would end the carrier,
  // which may wait for a host that never answers.
  void give_up() {
    process_.signal(SIGTERM);
    close();
  }

 private:
  std::unique_ptr<AgentStream> stream_;
  ProcessHandle process_;  // the carrier
  std::string received_;
};

std::string path_of(const std::string& program) {
  if (program.find('/') != program.npos) return program;
  const char* path = std::getenv("PATH");
  if (auto file = find_program(program, path == nullptr ? "" : path)) return *file;
  throw Error(Exit::kOs, "cannot start agent", fmt::format("{} is not on PATH", program),
              "-launcher ssh where the scheduler allows that");
}

void check_plain(const Host& host, const std::string& carrier) {
  if (host.user.empty() && host.port == 0) return;
  throw option_error("cannot start agent",
                     fmt::format("the host has a {}, and {} does not take one",
                                 host.user.empty() ? "port" : "user", carrier),
                     "-launcher ssh where the scheduler allows that");
}

// Some carriers run the command through a shell on the host, others directly. Every word is plain,
// so both do the same.
std::vector<std::string> carried_command(const Host& host, const StartOptions& options,
                                         const std::vector<std::string>& arguments) {
  check_agent_path(options.agent_path);
  std::vector<std::string> command = options.carrier;
  check_plain(host, command[0]);
  command[0] = path_of(command[0]);
  command.push_back(host.name);
  command.push_back(options.agent_path);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::unique_ptr<CarriedStream> carry(asio::io_context& context, const Host& host,
                                     const StartOptions& options,
                                     const std::vector<std::string>& arguments) {
  Child child = spawn_child(carried_command(host, options, arguments), ChildErrors::kPiped);
  // Taken before the stream owns and may reap the child: afterwards the pid could belong to another
  // process.
  ProcessHandle process(child.pid);
  return std::make_unique<CarriedStream>(make_local_stream(context, std::move(child)),
                                         std::move(process));
}

Error no_carried_agent(const Host& host, const StartOptions& options, const std::string& noise,
                       const AgentStream& stream, bool late) {
  const std::string carrier = join(options.carrier, " ");
  const std::string ending = stream.ending();
  std::string reason =
      late ? fmt::format("{} has not brought it there in time", carrier)
           : fmt::format("{} ended{}{}", carrier, ending.empty() ? "" : ": ", ending);
  const std::string said = last_line(stream.standard_error());
  const std::string printed = printable(last_line(noise));
  if (!said.empty()) {
    reason += fmt::format(", saying \"{}\"", said);
  } else if (!printed.empty()) {
    reason += fmt::format(", printing \"{}\"", printed);
  }
  return Error(Exit::kOs, "cannot start agent", reason,
               fmt::format("{} {} {} --version", carrier, host.name, options.agent_path));
}

awaitable<void> wait_for_carried(asio::io_context& context, CarriedStream& stream, Host host,
                                 StartOptions options) {
  const StreamDeadline patience(context, stream, options.deadline);
  std::string received;
  try {
    while (!find_greeting(received)) {
      const std::string bytes = co_await stream.read();
      if (bytes.empty()) throw no_carried_agent(host, options, received, stream, patience.passed());
      received += bytes;
    }
  } catch (const Error&) {
    if (!patience.passed()) throw;
    // The deadline has closed the stream; later failures are not the cause.
    throw no_carried_agent(host, options, received, stream, true);
  }
  stream.unread(std::move(received));
}

}  // namespace

std::unique_ptr<AgentStream> carry_agent(asio::io_context& context, const Host& host,
                                         const StartOptions& options,
                                         const std::vector<std::string>& arguments) {
  return carry(context, host, options, arguments);
}

awaitable<std::unique_ptr<AgentStream>> start_carried_agent(asio::io_context& context, Host host,
                                                            StartOptions options) {
  try {
    const std::vector<std::string> arguments(1, "--serve");
    std::unique_ptr<CarriedStream> stream = carry(context, host, options, arguments);
    try {
      co_await wait_for_carried(context, *stream, host, options);
    } catch (const Error&) {
      stream->give_up();
      throw;
    }
    co_return stream;
  } catch (const Error& error) {
    throw error.with_context(host.name);
  }
}

}  // namespace dtl
