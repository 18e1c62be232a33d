// Each attempt reads the settings again, because their libssh session ends with the attempt.
#include "launcher/ssh/login_connect.h"

#include <fmt/format.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/ssh/blocking_calls.h"
#include "launcher/ssh/host_key.h"
#include "launcher/ssh/login.h"
#include "launcher/ssh/login_queue.h"
#include "launcher/ssh/resolve.h"
#include "launcher/streams/child.h"
#include "plan/request/command_text.h"
#include "wire/connect/tcp_connect.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAttempts = 4;
constexpr int kMinPauseMs =
    100;  // ms between attempts; doubles each time, plus as much again at random

// A server's first line is "SSH-2.0-..." (RFC 4253, 4.2).
bool greeted(ssh_session handle) {
  const char* banner = ssh_get_serverbanner(handle);
  return banner != nullptr && std::string_view(banner).substr(0, 4) == "SSH-";
}

// How to reach a host, and what is known of its key.
struct Target {
  SshSettings settings;
  std::shared_ptr<KnownHost> known;
};

awaitable<std::shared_ptr<Target>> find_target(asio::io_context& context, Host host, SshTrust trust,
                                               Clock::time_point deadline) {
  auto target = std::make_shared<Target>();  // shared with the worker
  auto files = known_hosts_files_of(context);
  auto reading = workers_of(context).run(
      [=] {
        target->settings = read_ssh_settings(host, trust);
        target->known = find_known_host(target->settings, files);
      },
      deadline);
  if (!co_await std::move(reading)) {
    throw Error(Exit::kConfig, "cannot start agent",
                "~/.ssh/config and known_hosts cannot be read in time",
                "ssh -G " + one_shell_word(host.name));
  }
  co_return target;
}

awaitable<Fd> connect_directly(asio::io_context& context, std::shared_ptr<SshSettings> settings,
                               Clock::time_point deadline) {
  const auto resolved_by = std::min(deadline, Clock::now() + kResolveDeadline);
  auto endpoints = co_await resolve(context, settings->address, settings->port, resolved_by);
  const auto connected_by = std::min(deadline, Clock::now() + kConnectDeadline);
  co_return co_await connect_first(context, std::move(endpoints), connected_by,
                                   login_command(settings->host));
}

awaitable<std::shared_ptr<SshSession>> reach(asio::io_context& context,
                                             std::shared_ptr<SshSettings> settings,
                                             Clock::time_point deadline) {
  std::shared_ptr<Child> proxy;
  Fd socket;
  if (settings->proxy_command.empty()) {
    socket = co_await connect_directly(context, settings, deadline);
  } else {
    std::vector<std::string> shell(3);
    // exec, as in ssh, so that no shell remains between us and the proxy.
    shell = {"/bin/sh", "-c", "exec " + settings->proxy_command};
    proxy = std::make_shared<Child>(spawn_child(shell, ChildErrors::kShared));
    socket = std::move(proxy->socket);
  }
  auto session = std::make_shared<SshSession>(context, settings->session.release());
  // The proxy's process lives as long as the session uses its socket.
  session->keep(std::move(proxy));
  session->attach(std::move(socket));
  session->set_deadline(deadline);
  co_return session;
}

std::string hung_up_text(const std::string& how) {
  return fmt::format(
      "the server there hangs up before it greets ({}): sshd does so with too many logins at once "
      "(its MaxStartups) and for a while after refused ones (PerSourcePenalties)",
      how);
}

awaitable<void> exchange_keys(std::shared_ptr<SshSession> session,
                              std::shared_ptr<SshSettings> settings, bool* hung_up) {
  ssh_session handle = session->handle();
  auto connecting =
      session->finish([=] { return ssh_connect(handle); },
                      [=] {
                        return fmt::format("connected to port {}, but {}", settings->port,
                                           greeted(handle) ? "the key exchange does not finish"
                                                           : "nothing there speaks SSH");
                      });
  if (co_await std::move(connecting) == SSH_OK) {
    session->forbid_blocking();
    co_return;
  }
  *hung_up = !greeted(handle);
  // A proxy that ends looks the same, and reports its own reason.
  const bool by_server = *hung_up && settings->proxy_command.empty();
  throw Error(Exit::kUnreachable, "cannot start agent",
              by_server ? hung_up_text(session->error_text()) : session->error_text(),
              login_command(settings->host));
}

std::chrono::milliseconds pause(int attempt) {
  RandomNumbers numbers;
  const int least = kMinPauseMs << attempt;
  // Random, so that logins that were rejected together do not retry together.
  return std::chrono::milliseconds(std::uniform_int_distribution<int>(least, 2 * least)(numbers));
}

}  // namespace

awaitable<std::shared_ptr<SshSession>> open_ssh_session(asio::io_context& context, Host host,
                                                        SshTrust trust,
                                                        std::chrono::milliseconds patience) {
  const LoginQueue::Turn turn = co_await logins_of(context).turn();
  const Clock::time_point deadline = Clock::now() + patience;
  for (int attempt = 0;; ++attempt) {
    auto target = co_await find_target(context, host, trust, deadline);
    // Shares the owner.
    const std::shared_ptr<SshSettings> settings(target, &target->settings);
    auto session = co_await reach(context, settings, deadline);
    bool hung_up = false;
    std::exception_ptr failure;
    try {
      co_await exchange_keys(session, settings, &hung_up);
      target->known->preferred.reset();
    } catch (const Error&) {
      failure = std::current_exception();
    }
    // co_await is not allowed in an exception handler, so the failure is handled here.
    if (failure) {
      session->close();
      // Only a server that disconnected at once may accept us a moment later.
      if (!hung_up || attempt + 1 == kAttempts) std::rethrow_exception(failure);
      asio::steady_timer timer(context, pause(attempt));
      co_await timer.async_wait(asio::use_awaitable);
      continue;
    }
    try {
      co_await check_host_key(session, settings, target->known);
      co_await log_in(session, settings);
    } catch (const Error&) {
      failure = std::current_exception();
    }
    if (!failure) co_return session;
    session->close();
    std::rethrow_exception(failure);
  }
}

}  // namespace dtl
