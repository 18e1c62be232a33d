// A worker reads key files: they may be on a network file system that hangs.
#include "launcher/ssh/login.h"

#include <fmt/format.h>
#include <libssh/libssh.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "launcher/ssh/blocking_calls.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr std::chrono::seconds kAgentDeadline{3};  // ssh-agent answers in milliseconds
constexpr const char* kAttempted = "cannot start agent";

using LoginKey = std::shared_ptr<ssh_key_struct>;  // shared with the worker that loads it

// What the key files contain; the error lists all of it.
struct Keys {
  std::vector<std::pair<std::string, LoginKey>> usable;  // with the file's name
  std::vector<std::string> unusable;                     // "FILE (reason)"
  std::string locked;                                    // the first file that needs a passphrase
};

int no_passphrase(const char*, char*, std::size_t, int, int, void*) {
  return -1;  // otherwise libssh would ask on the terminal
}

// Reads the file's text, so that the message can say it.
bool needs_passphrase(const std::string& path) {
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  // PEM says so; OpenSSH's own format begins, in base64, with the name of its cipher.
  constexpr std::string_view kNotEncrypted = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU";
  if (first.find("BEGIN OPENSSH") == std::string::npos) {
    return first.find("ENCRYPTED") != std::string::npos ||
           second.find("ENCRYPTED") != std::string::npos;
  }
  return second.compare(0, kNotEncrypted.size(), kNotEncrypted) != 0;
}

// A key mounted into a pod belongs to root, and its group or everybody in the pod may read it.
void load_key(const std::string& path, bool mounted, Keys& keys) {
  struct stat status {};
  // Most users lack most of the default files, so a missing one is not reported.
  if (::stat(path.c_str(), &status) != 0) return;
  // As ssh: refuses a key that others may read; the message names it.
  if ((status.st_mode & (mounted ? 022U : 077U)) != 0) {
    keys.unusable.push_back(path + (mounted ? " (others may write it)" : " (others may read it)"));
  } else if (needs_passphrase(path)) {
    keys.unusable.push_back(path + " (needs a passphrase)");
    if (keys.locked.empty()) keys.locked = path;
  } else {
    ssh_key key = nullptr;
    if (ssh_pki_import_privkey_file(path.c_str(), nullptr, no_passphrase, nullptr, &key) !=
        SSH_OK) {
      keys.unusable.push_back(path + " (not a private key)");
      return;
    }
    keys.usable.emplace_back(path, LoginKey(key, &ssh_key_free));
  }
}

std::string configured_identity(ssh_session session) {
  char* value = nullptr;
  if (ssh_options_get(session, SSH_OPTIONS_IDENTITY, &value) != SSH_OK || !value) return {};
  const std::string path = value;
  ssh_string_free_char(value);
  return path;
}

Keys load_keys(const std::string& configured, const SshSettings& settings) {
  std::vector<std::string> paths;
  const std::string& pod_keys = settings.trust.pod_keys;
  const std::string mounted = pod_keys.empty() ? "" : pod_keys + "/id_rsa";
  // First the key that was configured for these hosts.
  for (const std::string& path : {mounted, configured}) {
    if (!path.empty()) paths.push_back(path);
  }
  for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"}) {
    const std::string path = settings.home + "/.ssh/" + name;
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
  Keys keys;
  for (const std::string& path : paths) load_key(path, path == mounted, keys);
  return keys;
}

Error refused(const SshSettings& settings, const Keys& keys, const std::string& agent) {
  std::vector<std::string> tried;
  for (const auto& [path, key] : keys.usable) tried.push_back(path);
  if (!agent.empty()) tried.push_back(agent);
  std::string reason = "Permission denied (publickey)";
  reason += tried.empty() ? ": there is no key to try" : ": tried " + join(tried, ", ");
  if (!keys.unusable.empty()) reason += "; not usable: " + join(keys.unusable, ", ");
  // The passphrase is the reason only if there was no other key to try.
  const bool locked = tried.empty() && !keys.locked.empty();
  return Error(Exit::kAuth, kAttempted,
               settings.user.empty() ? reason : fmt::format("{} as user {}", reason, settings.user),
               locked ? "ssh-add " + one_shell_word(keys.locked) : login_command(settings.host));
}

// A server that limits attempts says so before it disconnects (RFC 4253, 11.1).
bool broke_without_a_word(SshSession& session) {
  return ssh_is_connected(session.handle()) == 0 &&
         session.error_text().find("SSH_MSG_DISCONNECT") == std::string::npos;
}

Error broken(SshSession& session, const SshSettings& settings) {
  return Error(Exit::kUnreachable, kAttempted,
               fmt::format("the connection broke while the server was to judge the login ({})",
                           session.error_text()),
               login_command(settings.host));
}

// True if the agent has a key that the server accepts. Throws if the agent does not answer.
awaitable<bool> try_agent(std::shared_ptr<SshSession> session,
                          std::shared_ptr<const SshSettings> settings) {
  // Only part of the session's time, so a hanging agent is reported before the session's deadline.
  const auto limit =
      std::min(session->deadline(), std::chrono::steady_clock::now() + kAgentDeadline);
  auto result = std::make_shared<int>(SSH_AUTH_ERROR);  // shared with the worker
  // Only the worker uses the session until it is done or, at the deadline, abandoned.
  auto asking = workers_of(session->context())
                    .run(
                        [session, result] {
                          ssh_set_blocking(session->handle(), 1);
                          *result = ssh_userauth_agent(session->handle(), nullptr);
                          ssh_set_blocking(session->handle(), 0);
                        },
                        limit);
  if (co_await std::move(asking)) co_return *result == SSH_AUTH_SUCCESS;
  // Makes the worker's later writes to the server fail.
  session->shut_down();
  throw Error(
      Exit::kAuth, kAttempted, "ssh-agent does not answer",
      "SSH_AUTH_SOCK= " + (settings->host.access.by_ssh() ? command_on(settings->host, "true")
                                                          : std::string("dtlaunch ...")));
}

}  // namespace

awaitable<void> log_in(std::shared_ptr<SshSession> session,
                       std::shared_ptr<const SshSettings> settings) {
  const std::string configured = configured_identity(session->handle());
  auto keys = std::make_shared<Keys>();
  auto loading = workers_of(session->context())
                     .run([=] { *keys = load_keys(configured, *settings); }, session->deadline());
  if (!co_await std::move(loading)) {
    throw Error(Exit::kAuth, kAttempted, "the key files cannot be read in time");
  }
  for (const auto& [path, key] : keys->usable) {
    ssh_session handle = session->handle();
    ssh_key private_key = key.get();
    // Offers and signs in one step; see login.h.
    auto offering = session->finish(
        [=] {
          const int said = ssh_userauth_publickey(handle, nullptr, private_key);
          return said == SSH_AUTH_AGAIN ? SSH_AGAIN : said;
        },
        [] { return std::string("the server does not answer the login"); });
    if (co_await std::move(offering) == SSH_AUTH_SUCCESS) co_return;
    // Servers disconnect after a few refused keys (MaxAuthTries): the rest could not be tried.
    if (ssh_is_connected(handle) == 0) break;
  }
  std::string agent;
  const char* agent_socket = std::getenv("SSH_AUTH_SOCK");
  if (agent_socket != nullptr && *agent_socket != '\0' &&
      ssh_is_connected(session->handle()) != 0) {
    agent = "ssh-agent";
    if (co_await try_agent(session, settings)) co_return;
  }
  if (broke_without_a_word(*session)) throw broken(*session, *settings);
  throw refused(*settings, *keys, agent);
}

}  // namespace dtl
