#include "launcher/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/child.h"
#include "launcher/keep_client.h"
#include "launcher/local_stream.h"
#include "launcher/socket_stream.h"
#include "launcher/ssh_connect.h"
#include "launcher/ssh_stream.h"
#include "plan/host_token.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

constexpr std::string_view kPathCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-";

// The path goes through a login shell, any login shell: only what no shell reads in its own way.
void check_agent_path(const std::string& path) {
  if (!path.empty() && path[0] == '/' &&
      path.find_first_not_of(kPathCharacters) == std::string::npos) {
    return;
  }
  throw Error(
      Exit::kConfig, "cannot start agent",
      fmt::format("the path '{}' has characters that a login shell may read in its own way", path),
      "install dtlaunch under a path of letters, digits and _./+-");
}

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split(trim(text), '\n');
  return std::string(trim(lines.back()));
}

// The agent's end before its marker line, from what little is known about it.
Error no_agent(const Host& host, const std::string& path, const std::string& noise,
               const AgentStream& stream) {
  const std::string ending = stream.ending();
  const std::string hint = fmt::format("ssh {} {} --version", host.name, path);
  std::string reason;
  if (ending == "exit status 127") {
    reason = fmt::format("there is no dtagent on {}: neither {} nor on its PATH", host.name, path);
    return Error(Exit::kOs, "cannot start agent", reason,
                 fmt::format("install dtlaunch on {} too, under the same path", host.name));
  }
  if (ending == "exit status 126") {
    return Error(Exit::kOs, "cannot start agent", fmt::format("{} cannot be executed", path), hint);
  }
  reason = ending.empty() ? "the login shell ended without starting dtagent"
                          : fmt::format("dtagent or the login shell ended: {}", ending);
  const std::string said = last_line(stream.standard_error());
  const std::string printed = last_line(noise);
  if (!said.empty()) {
    reason += fmt::format(", saying \"{}\"", said);
  } else if (!printed.empty()) {
    reason += fmt::format(", printing \"{}\"", printed);
  }
  return Error(Exit::kOs, "cannot start agent", reason, hint);
}

// Reads up to the agent's marker line, which shows that it runs, and gives all of it back.
awaitable<void> wait_for_marker(SshStream& stream, const Host& host, const std::string& path) {
  std::string received;
  while (!find_greeting(received)) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) throw no_agent(host, path, received, stream);
    received += bytes;
  }
  stream.unread(std::move(received));
}

// Closes the stream when the deadline passes first, unless it is gone by then.
class Alarm {
 public:
  Alarm(asio::io_context& context, std::chrono::steady_clock::time_point deadline,
        SshStream& stream)
      : timer_(context, deadline) {
    timer_.async_wait([&stream, state = state_](boost::system::error_code cancelled) {
      if (cancelled || *state != State::kSet) return;
      *state = State::kRang;
      stream.close();
    });
  }
  ~Alarm() { *state_ = State::kOff; }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  bool rang() const { return *state_ == State::kRang; }

 private:
  enum class State { kSet, kRang, kOff };
  asio::steady_timer timer_;
  // Shared with the handler, which may be queued already when the alarm is destroyed.
  std::shared_ptr<State> state_ = std::make_shared<State>(State::kSet);
};

awaitable<std::unique_ptr<AgentStream>> start_over_ssh(asio::io_context& context, Host host,
                                                       StartOptions options) {
  check_agent_path(options.agent_path);
  const auto deadline = std::chrono::steady_clock::now() + options.deadline;
  auto session = co_await open_ssh_session(context, host, options.accept_new_host_keys, deadline);
  auto stream = co_await run_over_ssh(session, agent_command(options.agent_path, "--stdio"));
  const Alarm alarm(context, deadline, *stream);
  try {
    co_await wait_for_marker(*stream, host, options.agent_path);
  } catch (const Error&) {
    if (!alarm.rang()) throw;
    throw Error(Exit::kOs, "cannot start agent",
                "logged in, but dtagent does not answer; perhaps a startup file of the login shell "
                "waits for something",
                fmt::format("ssh {} true", host.name));
  }
  session->clear_deadline();
  co_return stream;
}

std::vector<std::string> local_agent_command(const std::string& agent_path) {
  return {agent_path, "--serve"};
}

}  // namespace

// One command for sh, bash, zsh, csh and fish: they all leave single quotes alone.
std::string agent_command(const std::string& path, const std::string& arguments) {
  return fmt::format("exec sh -c 'a={}; test -x \"$a\" || a=dtagent; exec \"$a\" {}'", path,
                     arguments);
}

bool is_local(const Host& host) {
  return is_loopback_name(host.name);
}

awaitable<std::unique_ptr<AgentStream>> start_local_agent(asio::io_context& context,
                                                          StartOptions options) {
  if (auto stream = co_await start_service_agent(context)) co_return stream;
  const std::vector<std::string> arguments = local_agent_command(options.agent_path);
  co_return make_local_stream(context, spawn_child(arguments, ChildErrors::kPiped));
}

awaitable<std::unique_ptr<AgentStream>> start_ssh_agent(asio::io_context& context, Host host,
                                                        StartOptions options) {
  try {
    if (auto kept = co_await start_kept_agent(context, host, options)) co_return kept;
    co_return co_await start_over_ssh(context, host, std::move(options));
  } catch (const Error& error) {
    throw error.with_context(host.name);  // the layer boundary: from here on there are many hosts
  }
}

awaitable<std::unique_ptr<AgentStream>> run_agent(asio::io_context& context, Host host,
                                                  StartOptions options,
                                                  std::vector<std::string> arguments) {
  if (is_local(host)) {
    arguments.insert(arguments.begin(), options.agent_path);
    co_return make_local_stream(context, spawn_child(arguments, ChildErrors::kPiped));
  }
  try {
    check_agent_path(options.agent_path);
    const auto deadline = std::chrono::steady_clock::now() + options.deadline;
    auto session = co_await open_ssh_session(context, host, options.accept_new_host_keys, deadline);
    std::string command = agent_command(options.agent_path, join(arguments, " "));
    auto stream = co_await run_over_ssh(session, std::move(command));
    session->clear_deadline();
    co_return stream;
  } catch (const Error& error) {
    throw error.with_context(host.name);
  }
}

}  // namespace dtl
