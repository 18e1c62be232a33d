// Each way to start adds the host's name to its errors here, as its last step. Layers below know
// only one connection; layers above have many hosts.
#include "launcher/agents/agent_start.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/agents/agent_command.h"
#include "launcher/agents/agent_link.h"
#include "launcher/agents/carried_agent.h"
#include "launcher/agents/early_agent.h"
#include "launcher/agents/kept_connection_client.h"
#include "launcher/agents/push.h"
#include "launcher/ssh/login_connect.h"
#include "launcher/ssh/stream.h"
#include "launcher/step/agent_step.h"
#include "launcher/streams/child.h"
#include "launcher/streams/local_stream.h"
#include "launcher/streams/socket_stream.h"
#include "launcher/sync/folder_sync.h"
#include "plan/request/command_text.h"
#include "plan/request/host_token.h"
#include "wire/deadline.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

// The agent ended before its marker line. Like POSIX shells, agent_command() exits with 127 if the
// program does not exist and with 126 if it cannot run. Otherwise the last line of standard error
// is the best clue, then the last line of standard output.
Error no_agent(const Host& host, const std::string& path, const std::string& noise,
               const AgentStream& stream) {
  if (const auto refusal = refused_agent(host, stream)) return *refusal;
  const std::string ending = stream.ending();
  const std::string hint = command_on(host, path + " --version");
  std::string reason;
  if (ending == "exit status 127") {
    reason = fmt::format("there is no dtagent on {}: neither {} nor on its PATH", host.name, path);
    return Error(Exit::kOs, "cannot start agent", reason,
                 fmt::format("dtlaunch --push ..., or install dtlaunch on {} too", host.name));
  }
  if (ending == "exit status 126") {
    return Error(Exit::kOs, "cannot start agent", fmt::format("{} cannot be executed", path), hint);
  }
  reason = ending.empty() ? "the login shell ended without starting dtagent"
                          : fmt::format("dtagent or the login shell ended: {}", ending);
  const std::string said = last_line(stream.standard_error());
  const std::string printed = printable(last_line(noise));
  if (!said.empty()) {
    reason += fmt::format(", saying \"{}\"", said);
  } else if (!printed.empty()) {
    reason += fmt::format(", printing \"{}\"", printed);
  }
  return Error(Exit::kOs, "cannot start agent", reason, hint);
}

// Only the marker line shows that dtagent runs: sshd accepts a command before it starts it. All
// bytes read are given back, because greet_agent() reads them again.
awaitable<Greeting> wait_for_marker(SshStream& stream, const Host& host, const std::string& path) {
  std::string received;
  std::optional<GreetingFound> found;
  while (!(found = find_greeting(received))) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) throw no_agent(host, path, received, stream);
    received += bytes;
  }
  stream.unread(std::move(received));
  co_return std::move(found->greeting);
}

std::string start_command(const StartOptions& options, AfterPush after) {
  check_agent_path(options.agent_path);
  if (!options.bundles) return agent_command(options.agent_path, "--stdio");
  return push_command(options.agent_path, *options.bundles, new_push_token(), after,
                      options.feeds ? options.feeds->word() : "");
}

Error silent(const Host& host, bool pushing) {
  return Error(Exit::kOs, "cannot start agent",
               pushing ? "logged in, but no more bytes come or go"
                       : "logged in, but dtagent does not answer; perhaps a startup file of the "
                         "login shell waits for something",
               login_command(host));
}

// Sends what the host lacks. From the first byte on, the deadline limits each pause and no longer
// the whole: the link decides how long 45 MB take.
awaitable<Pushed> bring_bundle(SshStream& stream, Host host, StartOptions options, AfterPush after,
                               StreamDeadline& patience) {
  std::function<void()> progress = [&patience] { patience.postpone(kPushStall); };
  const Pushed pushed = co_await push_bundle(stream, host, options.bundles, options.feeds, after,
                                             std::move(progress));
  if (!pushed.from.empty()) {
    log_verbose(fmt::format("{}: fetched {} from {} ({:.1f} MB sent from here)", host.name,
                            pushed.name, pushed.from,
                            static_cast<double>(pushed.sent_bytes) / 1e6));
  } else if (pushed.sent_bytes > 0) {
    log_verbose(fmt::format("{}: sent {} ({:.1f} MB)", host.name, pushed.name,
                            static_cast<double>(pushed.sent_bytes) / 1e6));
  }
  co_return pushed;
}

awaitable<Greeting> wait_for_agent(SshStream& stream, Host host, StartOptions options,
                                   StreamDeadline& patience) {
  try {
    if (options.bundles) {
      co_await bring_bundle(stream, host, options, AfterPush::kServe, patience);
    }
    co_return co_await wait_for_marker(stream, host, options.agent_path);
  } catch (const Error&) {
    // StreamDeadline closes the stream, which then fails in some other way; the deadline is the
    // cause.
    if (!patience.passed()) throw;
    throw silent(host, options.bundles != nullptr);
  }
}

// Each try has options.deadline anew. With options.late, retries an absent host until LateHosts
// gives up. The wait is outside the handler, because C++ does not allow co_await in one.
awaitable<std::shared_ptr<SshSession>> open_session(asio::io_context& context, Host host,
                                                    StartOptions options) {
  std::optional<LateHosts::Wait> wait;
  if (options.late) wait.emplace(*options.late, host.name);
  for (;;) {
    std::optional<Error> failure;
    try {
      co_return co_await open_ssh_session(context, host, options.trust, options.deadline);
    } catch (const Error& error) {
      failure = error;
    }
    if (!wait) throw *failure;
    asio::steady_timer timer(context, wait->after(*failure));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// dtagent --receive-folder, on a channel of its own beside that of the agent, which waits.
awaitable<std::unique_ptr<AgentStream>> start_receiver(std::shared_ptr<SshSession> session,
                                                       StartOptions options) {
  session->set_deadline(std::chrono::steady_clock::now() + kSshDeadline);
  // After a push another dtagent may be on the PATH there, of another version.
  std::string command = options.bundles ? start_command(options, AfterPush::kTakeFolder)
                                        : agent_command(options.agent_path, "--receive-folder");
  auto stream = co_await run_over_ssh(session, std::move(command), ChannelEnd::kChannelOnly);
  session->clear_deadline();
  co_return stream;
}

awaitable<std::unique_ptr<AgentStream>> start_over_ssh(asio::io_context& context, Host host,
                                                       StartOptions options) {
  std::string command = start_command(options, AfterPush::kServe);
  auto session = co_await open_session(context, host, options);
  // The deadline of the try that succeeded; an earlier one would have expired for a late host.
  const auto deadline = session->deadline();
  auto stream = co_await run_over_ssh(session, std::move(command));
  Greeting greeting;
  {
    StreamDeadline patience(context, *stream, deadline);
    greeting = co_await wait_for_agent(*stream, host, options, patience);
  }
  // From here on the session may be idle for hours. Heartbeats watch it.
  session->clear_deadline();
  // greet_agent() refuses another version.
  if (options.folders && greeting.version == DTL_VERSION) {
    FolderSync::Opener open = [session, options] { return start_receiver(session, options); };
    co_await options.folders->bring(context, host, std::move(open));
  }
  co_return stream;
}

// --unsignalled: a scheduler signals every process that it has started, but only dtlaunch decides
// what these signals mean, so the agent ignores them. --input: passes our standard input as a
// descriptor.
std::vector<std::string> local_agent_command(const StartOptions& options) {
  std::vector<std::string> command{options.agent_path, "--serve", "--child"};
  if (!options.service) command.emplace_back("--unsignalled");
  if (options.input >= 0) command.emplace_back("--input");
  return command;
}

}  // namespace

bool is_local(const Host& host) {
  return host.here || is_loopback_name(host.name);
}

void start_agent_early(const StartOptions& options) {
  if (options.service && may_have_service_agent()) return;
  options.early->start(local_agent_command(options), options.input);
}

awaitable<std::unique_ptr<AgentStream>> start_local_agent(asio::io_context& context,
                                                          StartOptions options) {
  if (auto child = options.early ? options.early->take() : std::nullopt) {
    co_return make_local_stream(context, std::move(*child), options.input >= 0);
  }
  if (options.service) {
    if (auto stream = co_await start_service_agent(context)) co_return stream;
  }
  const std::vector<std::string> arguments = local_agent_command(options);
  Child child = spawn_child(arguments, ChildErrors::kPiped, std::nullopt, options.input);
  co_return make_local_stream(context, std::move(child), options.input >= 0);
}

awaitable<std::unique_ptr<AgentStream>> start_step_agent(asio::io_context& context, Host host,
                                                         StartOptions options) {
  if (!options.kept_job.empty()) {
    if (auto kept = co_await start_kept_agent(context, host, options)) co_return kept;
  }
  co_return co_await options.step->start(context, std::move(host));
}

awaitable<std::unique_ptr<AgentStream>> start_ssh_agent(asio::io_context& context, Host host,
                                                        StartOptions options) {
  try {
    // A kept agent was started without --push. That is enough for dtagent and dtguard, but a job
    // that needs a pushed dttrain must find it beside its agent. Folders need a login in any case.
    const bool any_agent =
        !options.folders && (!options.bundles || options.bundles->all[0].files.size() == 2);
    if (any_agent) {
      if (auto kept = co_await start_kept_agent(context, host, options)) co_return kept;
    }
    co_return co_await start_over_ssh(context, host, std::move(options));
  } catch (const Error& error) {
    throw error.with_context(host.name);  // the layer boundary: from here on there are many hosts
  }
}

awaitable<std::unique_ptr<AgentStream>> run_agent(asio::io_context& context, Host host,
                                                  StartOptions options,
                                                  std::vector<std::string> arguments) {
  // The same order as for jobs: a question about a job must reach its node the same way as the job.
  if (options.step && options.step->takes(host)) {
    co_return options.step->run(context, host, arguments);
  }
  if (is_local(host)) {
    arguments.insert(arguments.begin(), options.agent_path);
    co_return make_local_stream(context, spawn_child(arguments, ChildErrors::kPiped));
  }
  try {
    if (!options.carrier.empty()) co_return carry_agent(context, host, options, arguments);
    check_agent_path(options.agent_path);
    auto session = co_await open_ssh_session(context, host, options.trust, options.deadline);
    std::string command = agent_command(options.agent_path, join(arguments, " "));
    auto stream = co_await run_over_ssh(session, std::move(command));
    session->clear_deadline();
    co_return stream;
  } catch (const Error& error) {
    throw error.with_context(host.name);
  }
}

awaitable<Pushed> push_to(asio::io_context& context, Host host, StartOptions options) {
  try {
    std::string command = start_command(options, AfterPush::kSayWhere);
    auto session = co_await open_ssh_session(context, host, options.trust, options.deadline);
    auto stream = co_await run_over_ssh(session, std::move(command));
    StreamDeadline patience(context, *stream, session->deadline());
    const Pushed pushed =
        co_await bring_bundle(*stream, host, options, AfterPush::kSayWhere, patience);
    // push_bundle() returns without a folder if the stream ends before the host has asked for
    // anything.
    if (patience.passed()) throw silent(host, true);
    if (pushed.folder.empty()) throw no_agent(host, options.agent_path, {}, *stream);
    session->clear_deadline();
    // Its shell, and with that its seeder, ends with the stream.
    if (pushed.seeds) options.feeds->keep(std::move(stream));
    co_return pushed;
  } catch (const Error& error) {
    throw error.with_context(host.name);
  }
}

awaitable<std::string> remove_pushed(asio::io_context& context, Host host, StartOptions options) {
  try {
    auto session = co_await open_ssh_session(context, host, options.trust, options.deadline);
    auto stream = co_await run_over_ssh(session, remove_command());
    const StreamDeadline patience(context, *stream, session->deadline());
    std::string received;
    for (;;) {
      const std::string bytes = co_await stream->read();
      // The command ends by itself. The limit is for a login shell that prints without end.
      if (bytes.empty() || received.size() > kMaxShellNoiseBytes) break;
      received += bytes;
    }
    const auto answer = take_push_answer(received);
    if (!answer) throw no_agent(host, "sh", received, *stream);
    co_return answer->word == "removed" ? answer->rest : std::string();
  } catch (const Error& error) {
    throw error.with_context(host.name);
  }
}

}  // namespace dtl
