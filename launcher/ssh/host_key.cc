#include "launcher/ssh/host_key.h"

#include <fmt/format.h>
#include <libssh/libssh.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "launcher/ssh/known_hosts.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr int kSshPort = 22;

using HostKey = std::unique_ptr<ssh_key_struct, decltype(&ssh_key_free)>;
using Entry = std::unique_ptr<ssh_knownhosts_entry, decltype(&ssh_knownhosts_entry_free)>;

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

// Every line of the file that speaks about `host`; a file that is not there says nothing.
void collect(const std::string& path, const std::string& host, std::vector<KnownKey>& known) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  for (const KnownHostsLine& line : split_known_hosts(text.str(), path)) {
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

std::string known_hosts_path(ssh_session session, ssh_options_e which,
                             const std::string& fallback) {
  char* value = nullptr;
  if (ssh_options_get(session, which, &value) != SSH_OK || value == nullptr) return fallback;
  const std::string path = value;
  ssh_string_free_char(value);
  return path;
}

std::vector<KnownKey> known_keys(ssh_session session, const SshSettings& settings) {
  const std::string user_file =
      known_hosts_path(session, SSH_OPTIONS_KNOWNHOSTS, settings.home + "/.ssh/known_hosts");
  const std::string global_file =
      known_hosts_path(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/etc/ssh/ssh_known_hosts");
  const std::string name = settings.port == kSshPort
                               ? settings.address
                               : fmt::format("[{}]:{}", settings.address, settings.port);
  std::vector<KnownKey> known;
  collect(user_file, name, known);
  collect(global_file, name, known);
  return known;
}

Error refusal(const SshSettings& settings, const HostKeyVerdict& verdict,
              const std::string& fingerprint) {
  const std::string& where = verdict.line.where;
  std::string reason, hint = login_command(settings.host);
  switch (verdict.state) {
    case HostKeyState::kKnown:
    case HostKeyState::kUnknown:
      reason = fmt::format("unknown host key {}", fingerprint);
      if (verdict.only_authority) {
        reason += " (host certificates, as @cert-authority asks for, are not supported)";
      }
      hint =
          settings.host.access.by_ssh()
              ? hint + "  # check the fingerprint, answer yes; or dtlaunch --accept-new-host-keys"
              : "dtlaunch --accept-new-host-keys ...";
      break;
    case HostKeyState::kChanged:
      reason = fmt::format(
          "the host key has CHANGED: it is {}, but {} says {}. Somebody may be listening in, or "
          "the host was installed anew",
          fingerprint, where, verdict.line.fingerprint);
      hint = fmt::format("ssh-keygen -R {}  # once its administrator has confirmed the change",
                         settings.port == kSshPort
                             ? settings.address
                             : fmt::format("'[{}]:{}'", settings.address, settings.port));
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
  if (!expected.empty() && fingerprint == expected) return;
  throw Error(
      Exit::kAuth, "cannot start agent",
      fmt::format("its host key is {}, and not the {} of {}, which all pods of this job show",
                  fingerprint, expected, path),
      "the same Secret and sshd -h .../id_rsa in all pods; --engine none -f FILE for hosts "
      "of known_hosts");
}

}  // namespace

void check_host_key(SshSession& session, const SshSettings& settings) {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session.handle(), &raw) != SSH_OK) {
    throw Error(Exit::kAuth, "cannot start agent", "the server shows no host key");
  }
  const HostKey key(raw, &ssh_key_free);
  const std::string fingerprint = fingerprint_of(key.get());
  if (!settings.trust.pod_keys.empty()) {
    check_pod_key(settings, fingerprint);
    return;
  }
  const std::string type = ssh_key_type_to_char(ssh_key_type(key.get()));
  const HostKeyVerdict verdict =
      judge_host_key(known_keys(session.handle(), settings), type, fingerprint);
  if (verdict.state == HostKeyState::kKnown) return;
  if (verdict.state != HostKeyState::kUnknown || !settings.trust.accept_new_host_keys) {
    throw refusal(settings, verdict, fingerprint);
  }
  if (ssh_session_update_known_hosts(session.handle()) != SSH_OK) {
    throw Error(Exit::kCannotWrite, "cannot note its host key", session.error_text());
  }
  log_notice(fmt::format("{}: accepted its new host key {} {}", settings.name, type, fingerprint));
}

}  // namespace dtl
