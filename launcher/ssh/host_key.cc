// The verdict is as OpenSSH's with StrictHostKeyChecking=yes. "accept-new" is our option alone: the
// setting of ~/.ssh/config is not asked.
#include "launcher/ssh/host_key.h"

#include <fmt/format.h>
#include <libssh/libssh.h>

#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/ssh/blocking_calls.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_sources.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr const char* kCommand = "KnownHostsCommand ";

struct Judgement {
  HostKeyVerdict verdict;
  std::string name;                   // under which the host was looked for
  bool by_alias = false;              // it is HostKeyAlias
  std::vector<std::string> left_out;  // sources that could not be used
};

using HostKey = std::unique_ptr<ssh_key_struct, decltype(&ssh_key_free)>;
using Entry = std::unique_ptr<ssh_knownhosts_entry, decltype(&ssh_knownhosts_entry_free)>;

// "SHA256:...", as ssh-keygen -l prints it.
std::string fingerprint_of(ssh_key key) {
  unsigned char* hash = nullptr;
  std::size_t length = 0;
  if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &length) != SSH_OK) return {};
  char* text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
  ssh_clean_pubkey_hash(&hash);
  const std::string fingerprint = text ? text : "";
  ssh_string_free_char(text);
  return fingerprint;
}

std::string base64_of(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) return {};
  const std::string base64 = text;
  ssh_string_free_char(text);
  return base64;
}

KnownKey read_line(const KnownHostsLine& line, ssh_knownhosts_entry* entry) {
  KnownKey key;
  key.where = line.where;
  key.marker = line.marker;
  key.unreadable = entry == nullptr || entry->publickey == nullptr;
  if (key.unreadable) return key;
  key.type = ssh_key_type_to_char(ssh_key_type(entry->publickey));
  key.fingerprint = fingerprint_of(entry->publickey);
  return key;
}

// Every line of the text that speaks about `host`.
void collect_lines(const std::string& text, const std::string& path, const std::string& host,
                   std::vector<KnownKey>& known) {
  for (const KnownHostsLine& line : split_known_hosts(text, path)) {
    // Patterns are judged here: libssh does not know "!".
    if (!is_hashed(line.hosts) && !match_host_patterns(line.hosts, host)) continue;
    // libssh compares hashed names and reads keys; the patterns are done with.
    const std::string about = is_hashed(line.hosts) ? line.hosts : host;
    const std::string text_of_line = about + " " + line.key;
    ssh_knownhosts_entry* parsed = nullptr;
    const int result = ssh_known_hosts_parse_line(host.c_str(), text_of_line.c_str(), &parsed);
    const Entry entry(parsed, &ssh_knownhosts_entry_free);
    if (result != SSH_AGAIN) known.push_back(read_line(line, entry.get()));  // AGAIN: other hosts
  }
}

// A file that is not there says nothing.
std::vector<KnownKey> known_in(const std::vector<std::string>& files, const std::string& host) {
  std::vector<KnownKey> known;
  for (const std::string& path : files) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    collect_lines(text.str(), path, host, known);
  }
  return known;
}

// As ssh finds it. Of entries under another name than the first nothing counts but that they have
// this very key, or revoke it.
Judgement judge_as_ssh(const KnownHostsSources& sources, const SshSettings& settings,
                       const ShownKey& shown) {
  std::string printed;
  Judgement judgement;
  judgement.left_out = sources.left_out;
  try {
    printed = run_known_hosts_command(sources);
  } catch (const Error& error) {
    judgement.left_out.push_back(error.what());
  }
  const auto judge = [&](const std::string& name) {
    std::vector<KnownKey> known = known_in(sources.files, name);
    if (!printed.empty()) collect_lines(printed, kCommand + sources.command[0], name, known);
    return judge_host_key(known, shown.type, shown.fingerprint);
  };
  const std::vector<std::string> names = known_names(settings, sources.alias);
  judgement.name = names[0];
  judgement.by_alias = !sources.alias.empty();
  judgement.verdict = judge(names[0]);
  const HostKeyState state = judgement.verdict.state;
  if (state != HostKeyState::kUnknown && state != HostKeyState::kOtherType) return judgement;
  for (std::size_t i = 1; i < names.size(); ++i) {
    HostKeyVerdict other = judge(names[i]);
    if (other.state != HostKeyState::kKnown && other.state != HostKeyState::kRevoked) continue;
    judgement.verdict = std::move(other);
    break;
  }
  return judgement;
}

// A key that is known under the host's own name is good although ssh fails: what an alias says of
// it cannot be told then. None is new.
Judgement judge(const SshSettings& settings, const ShownKey& shown) {
  const KnownHostsSources usual = usual_sources(settings.home);
  if (!may_name_other_sources(settings.home)) return judge_as_ssh(usual, settings, shown);
  std::string problem;
  try {
    const auto sources = ask_ssh(settings, shown);
    return judge_as_ssh(sources.value_or(usual), settings, shown);
  } catch (const Error& error) {
    problem = error.what();
  }
  Judgement judgement = judge_as_ssh(usual, settings, shown);
  judgement.left_out.push_back(problem);
  return judgement;
}

std::string hint_to_forget(const Judgement& judgement, const SshSettings& settings) {
  const std::string& where = judgement.verdict.line.where;
  if (where.starts_with(kCommand)) return "what that command prints";
  const std::string file = where.substr(0, where.rfind(':'));
  return fmt::format(
      "ssh-keygen {}-R {}  # once its administrator has confirmed the change",
      file == settings.home + "/.ssh/known_hosts" ? "" : "-f " + one_shell_word(file) + " ",
      one_shell_word(judgement.name));
}

Error refusal(const SshSettings& settings, const Judgement& judgement,
              const std::string& fingerprint) {
  const HostKeyVerdict& verdict = judgement.verdict;
  const std::string& where = verdict.line.where;
  std::string reason, hint = login_command(settings.host);
  switch (verdict.state) {
    // kKnown is not refused; the compiler wants all cases.
    case HostKeyState::kKnown:
    case HostKeyState::kUnknown:
      reason = fmt::format("unknown host key {}", fingerprint);
      if (!judgement.left_out.empty()) {
        reason += fmt::format(" (not used: {})", join(judgement.left_out, "; "));
      }
      if (verdict.only_authority) {
        reason += " (host certificates, as @cert-authority asks for, are not supported)";
      }
      if (judgement.by_alias) {
        hint += fmt::format("  # check the fingerprint, answer yes: it is noted for {}",
                            judgement.name);
      } else {
        hint =
            settings.host.access.by_ssh()
                ? hint + "  # check the fingerprint, answer yes; or dtlaunch --accept-new-host-keys"
                : "dtlaunch --accept-new-host-keys ...";
      }
      break;
    case HostKeyState::kChanged:
      reason = fmt::format(
          "the host key has CHANGED: it is {}, but {} says {}. Somebody may be listening in, or "
          "the host was installed anew",
          fingerprint, where, verdict.line.fingerprint);
      hint = hint_to_forget(judgement, settings);
      break;
    case HostKeyState::kOtherType:
      reason = fmt::format("the host shows a key of another type, {}, than {} says: {} {}",
                           fingerprint, where, verdict.line.type, verdict.line.fingerprint);
      break;
    case HostKeyState::kRevoked:
      reason = fmt::format("the host key {} is revoked by {}", fingerprint, where);
      hint = "ask its administrator";
      break;
    case HostKeyState::kUnreadable:
      reason = fmt::format("{} is about this host but cannot be read; its key is {}", where,
                           fingerprint);
      hint = "mend that line";
      break;
  }
  return Error(Exit::kAuth, "cannot start agent", reason, hint);
}

void check_pod_key(const SshSettings& settings, const std::string& fingerprint) {
  const std::string path = settings.trust.pod_keys + "/id_rsa.pub";
  ssh_key raw = nullptr;
  if (ssh_pki_import_pubkey_file(path.c_str(), &raw) != SSH_OK) {
    throw Error(Exit::kAuth, "cannot start agent", path + " cannot be read",
                "what the Secret of the MPIJob holds");
  }
  const HostKey key(raw, &ssh_key_free);
  const std::string expected = fingerprint_of(key.get());
  // Two keys that cannot be read must not count as equal.
  if (!expected.empty() && fingerprint == expected) return;
  throw Error(
      Exit::kAuth, "cannot start agent",
      fmt::format("its host key is {}, and not the {} of {}, which all pods of this job show",
                  fingerprint, expected, path),
      "the same Secret and sshd -h .../id_rsa in all pods; --scheduler none -f FILE for hosts "
      "of known_hosts");
}

}  // namespace

awaitable<void> check_host_key(std::shared_ptr<SshSession> session,
                               std::shared_ptr<SshSettings> settings) {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session->handle(), &raw) != SSH_OK) {
    throw Error(Exit::kAuth, "cannot start agent", "the server shows no host key");
  }
  const HostKey key(raw, &ssh_key_free);
  const ShownKey shown{ssh_key_type_to_char(ssh_key_type(key.get())), base64_of(key.get()),
                       fingerprint_of(key.get())};
  if (!settings->trust.pod_keys.empty()) {
    check_pod_key(*settings, shown.fingerprint);
    co_return;
  }
  auto judgement = std::make_shared<Judgement>();  // shared with the worker
  auto judging = workers_of(session->context())
                     .run([=] { *judgement = judge(*settings, shown); }, session->deadline());
  if (!co_await std::move(judging)) {
    throw Error(Exit::kAuth, "cannot start agent", "known_hosts cannot be read in time",
                login_command(settings->host));
  }
  const HostKeyState state = judgement->verdict.state;
  if (state == HostKeyState::kKnown) co_return;
  // Only where everything has been looked at is a key new; and libssh cannot note it for an alias.
  const bool is_new =
      state == HostKeyState::kUnknown && judgement->left_out.empty() && !judgement->by_alias;
  if (!is_new || !settings->trust.accept_new_host_keys) {
    throw refusal(*settings, *judgement, shown.fingerprint);
  }
  if (ssh_session_update_known_hosts(session->handle()) != SSH_OK) {
    throw Error(Exit::kCannotWrite, "cannot note its host key", session->error_text());
  }
  log_notice(fmt::format("{}: accepted its new host key {} {}", settings->name, shown.type,
                         shown.fingerprint));
}

}  // namespace dtl
