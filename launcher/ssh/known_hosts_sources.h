#pragma once
// Where ssh itself looks for a host's key. By default these are four files. If the configuration
// changes them, `ssh -G HOST` tells: libssh reads one known_hosts file of each kind and supports
// neither HostKeyAlias nor KnownHostsCommand. Starting ssh takes some milliseconds, and a job may
// have a thousand hosts, so ssh runs only if the configuration requires it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/ssh/settings.h"

namespace dtl {

// The key that a host presents.
struct ShownKey {
  std::string type;         // "ssh-ed25519"
  std::string base64;       // as in known_hosts
  std::string fingerprint;  // "SHA256:..."
};

struct KnownHostsSources {
  std::vector<std::string> files;     // of the user, then of the machine
  std::string new_keys;               // the user's file in which ssh notes a new key
  std::string alias;                  // HostKeyAlias; empty: none
  std::vector<std::string> command;   // KnownHostsCommand, a word each; empty: none
  std::vector<std::string> left_out;  // "KEYWORD VALUE (why)": sources that only ssh supports
};

// text: what `ssh -G` prints. Expands "~" and the tokens of ssh_config(5). The key that the host
// shows matters to the command alone. Asks the file system which paths exist.
KnownHostsSources parse_sources(std::string_view text, const SshSettings& settings,
                                const ShownKey& shown);

// The default files of ssh.
KnownHostsSources usual_sources(const std::string& home);

// Whether an ssh configuration, the user's or the machine's, may set other sources: by a keyword
// about known hosts, or by an Include, which is not followed. Blocks.
bool may_name_other_sources(const std::string& home);

// What `ssh -G` prints. nullopt: there is no ssh on PATH. Throws Error when it fails or does not
// answer. Blocks; does not use settings.session.
std::optional<std::string> ask_ssh(const SshSettings& settings);

// Runs the command. Returns its output, or nothing without a command. Throws Error. Blocks.
std::string run_known_hosts_command(const KnownHostsSources& sources);

// The names under which this host's key may be listed, in lower case, in the order in which they
// are tried: a name counts only if nothing is known under the earlier ones. As in OpenSSH,
// HostKeyAlias excludes all others, and the entry without a port follows the one with it. The
// address that a hostfile gives with addr= comes last. Pure.
std::vector<std::string> known_names(const SshSettings& settings, const std::string& alias);

}  // namespace dtl
