// Judges as OpenSSH does with StrictHostKeyChecking=yes, and ignores this setting in ~/.ssh/config.
// "accept-new" is our own option.
#include "launcher/ssh/host_key.h"

#include <fmt/format.h>
#include <libssh/libssh.h>
#include <sys/mman.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/ssh/blocking_calls.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_index.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr const char* kCommand = "KnownHostsCommand ";

struct Judgement {
  HostKeyVerdict verdict;
  std::string name;                   // under which the host was looked up
  bool by_alias = false;              // name is HostKeyAlias
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

std::vector<KnownKey> read_lines(const std::vector<KnownHostsLine>& lines) {
  std::vector<KnownKey> keys;
  for (const KnownHostsLine& line : lines) {
    // The line is about this host, so libssh need not compare its names: it reads the key.
    const std::string text = "* " + line.key;
    ssh_knownhosts_entry* parsed = nullptr;
    ssh_known_hosts_parse_line("host", text.c_str(), &parsed);
    const Entry entry(parsed, &ssh_knownhosts_entry_free);
    keys.push_back(read_line(line, entry.get()));
  }
  return keys;
}

// The files are searched for a name once, and only when it is asked for.
const std::vector<KnownHostsLine>& lines_about(KnownHost& known, std::size_t name) {
  while (known.lines.size() <= name) {
    known.lines.push_back(known.files->about(known.sources.files, known.names[known.lines.size()]));
  }
  return known.lines[name];
}

// libssh asks the server for a key of a type that known_hosts has, and for that reads the file for
// each host while it connects: 23 us a hashed line, on the event loop. It gets a file of this
// host's lines alone.
void limit_to_lines(KnownHost& known, ssh_session session) {
  std::string text;
  for (std::size_t name = 0; name < known.names.size() && text.empty(); ++name) {
    for (const KnownHostsLine& line : lines_about(known, name)) {
      if (line.marker == KnownHostsMarker::kNone) text += "* " + line.key + "\n";
    }
  }
  std::string path = "/dev/null";
  if (!text.empty()) {
    known.preferred = Fd(::memfd_create("known_hosts", MFD_CLOEXEC));
    if (!known.preferred.valid()) throw system_error("cannot create a file in memory");
    write_all(known.preferred.get(), text);
    path = fmt::format("/proc/self/fd/{}", known.preferred.get());
  }
  ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, path.c_str());
  ssh_options_set(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
}

// As ssh finds it. Of entries under another name than the first nothing counts but that they have
// this very key, or revoke it.
Judgement judge(KnownHost& known, const SshSettings& settings, const ShownKey& shown) {
  // The command's arguments may name the key.
  const KnownHostsSources sources =
      known.answer.empty() ? known.sources : parse_sources(known.answer, settings, shown);
  Judgement judgement;
  judgement.left_out = sources.left_out;
  std::optional<KnownHostsIndex> printed;
  try {
    const std::string text = run_known_hosts_command(sources);
    if (!text.empty()) printed.emplace(text, kCommand + sources.command[0]);
  } catch (const Error& error) {
    judgement.left_out.push_back(error.what());
  }
  if (!known.problem.empty()) judgement.left_out.push_back(known.problem);
  const auto judge_name = [&](std::size_t name) {
    std::vector<KnownHostsLine> lines = lines_about(known, name);
    if (printed) {
      for (KnownHostsLine& line : printed->about(known.names[name])) {
        lines.push_back(std::move(line));
      }
    }
    return judge_host_key(read_lines(lines), shown.type, shown.fingerprint);
  };
  judgement.name = known.names[0];
  judgement.by_alias = !sources.alias.empty();
  judgement.verdict = judge_name(0);
  const HostKeyState state = judgement.verdict.state;
  if (state != HostKeyState::kUnknown && state != HostKeyState::kOtherType) return judgement;
  for (std::size_t i = 1; i < known.names.size(); ++i) {
    HostKeyVerdict other = judge_name(i);
    if (other.state != HostKeyState::kKnown && other.state != HostKeyState::kRevoked) continue;
    judgement.verdict = std::move(other);
    break;
  }
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
    // Never refused; the compiler wants all cases.
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
  // Two unreadable keys must not compare equal.
  if (!expected.empty() && fingerprint == expected) return;
  throw Error(
      Exit::kAuth, "cannot start agent",
      fmt::format("its host key is {}, and not the {} of {}, which all pods of this job show",
                  fingerprint, expected, path),
      "the same Secret and sshd -h .../id_rsa in all pods; --scheduler none -f FILE for hosts "
      "of known_hosts");
}

}  // namespace

// When ssh fails, a key that is known under the host's own name is still good. None is new then: an
// alias might know better.
std::shared_ptr<KnownHost> find_known_host(const SshSettings& settings,
                                           std::shared_ptr<KnownHostsFiles> files) {
  auto known = std::make_shared<KnownHost>();
  known->files = std::move(files);
  known->sources = usual_sources(settings.home);
  if (settings.trust.pod_keys.empty() && may_name_other_sources(settings.home)) {
    try {
      known->answer = ask_ssh(settings).value_or("");
      if (!known->answer.empty()) known->sources = parse_sources(known->answer, settings, {});
    } catch (const Error& error) {
      known->problem = error.what();
    }
  }
  if (settings.trust.pod_keys.empty()) {
    known->names = known_names(settings, known->sources.alias);
  }
  limit_to_lines(*known, settings.session.get());
  return known;
}

awaitable<void> check_host_key(std::shared_ptr<SshSession> session,
                               std::shared_ptr<const SshSettings> settings,
                               std::shared_ptr<KnownHost> known) {
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
  auto judging =
      workers_of(session->context())
          .run([=] { *judgement = judge(*known, *settings, shown); }, session->deadline());
  if (!co_await std::move(judging)) {
    throw Error(Exit::kAuth, "cannot start agent", "known_hosts cannot be read in time",
                login_command(settings->host));
  }
  const HostKeyState state = judgement->verdict.state;
  if (state == HostKeyState::kKnown) co_return;
  // A key is new only if every source was read; and libssh cannot add it under an alias.
  const bool is_new =
      state == HostKeyState::kUnknown && judgement->left_out.empty() && !judgement->by_alias;
  if (!is_new || !settings->trust.accept_new_host_keys) {
    throw refusal(*settings, *judgement, shown.fingerprint);
  }
  ssh_options_set(session->handle(), SSH_OPTIONS_KNOWNHOSTS, known->sources.new_keys.c_str());
  if (ssh_session_update_known_hosts(session->handle()) != SSH_OK) {
    throw Error(Exit::kCannotWrite, "cannot note its host key", session->error_text());
  }
  log_notice(fmt::format("{}: accepted its new host key {} {}", settings->name, shown.type,
                         shown.fingerprint));
}

}  // namespace dtl
