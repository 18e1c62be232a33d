// libssh stores what it reads from the files in its session; we read back the values that we need.
#include "launcher/ssh/settings.h"

#include <fmt/format.h>
#include <libssh/libssh.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr unsigned kPodPort = 2222;  // of the sshd in MPIJob's images

// libssh 0.11 follows jump hosts (ProxyJump) itself, but not on a socket that it is given, like
// ours, and would then connect to the host directly. With this variable it leaves them to a
// ProxyCommand, as 0.10 does. Set before there is a second thread.
[[maybe_unused]] const int kJumpByProxyCommand = ::setenv("OPENSSH_PROXYJUMP", "1", 1);

std::string option(ssh_session session, ssh_options_e which) {
  char* value = nullptr;
  if (ssh_options_get(session, which, &value) != SSH_OK || value == nullptr) return {};
  const std::string text = value;
  ssh_string_free_char(value);
  return text;
}

// The home folder that ssh uses, which is not always $HOME.
std::string home_folder() {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found);
  if (found) return found->pw_dir;
  const char* home = ::getenv("HOME");
  return home ? home : "/";
}

// "%h", "%p", "%r", "%n" and "%%" as in ssh_config(5).
std::string expand(const std::string& text, const SshSettings& settings) {
  std::string expanded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      expanded += text[i];
      continue;
    }
    switch (text[++i]) {
      // After HostName; %n is the name that the user typed.
      case 'h':
        expanded += settings.address;
        break;
      case 'p':
        expanded += std::to_string(settings.port);
        break;
      case 'r':
        expanded += settings.user;
        break;
      case 'n':
        expanded += settings.name;
        break;
      case '%':
        expanded += '%';
        break;
      // Others stay as they are.
      default:
        expanded += fmt::format("%{}", text[i]);
    }
  }
  return expanded;
}

}  // namespace

SshSettings read_ssh_settings(const Host& host, const SshTrust& trust) {
  SshSettings settings;
  settings.trust = trust;
  settings.name = host.name;
  settings.host = host;
  settings.session = {ssh_new(), [](ssh_session handle) { ssh_free(handle); }};
  ssh_session session = settings.session.get();
  if (session == nullptr)
    throw Error(Exit::kInternal, "cannot start agent", "libssh does not start");

  // Order matters: values of the files replace earlier ones (except the user), so ours follow.
  ssh_options_set(session, SSH_OPTIONS_HOST, host.name.c_str());
  if (!trust.pod_keys.empty()) {
    const unsigned port = kPodPort;
    ssh_options_set(session, SSH_OPTIONS_PORT, &port);
  }
  if (ssh_options_parse_config(session, nullptr) != 0) {
    throw Error(Exit::kConfig, "cannot start agent", "libssh cannot read ~/.ssh/config",
                "ssh -G " + one_shell_word(host.name));
  }
  // libssh would read the files again when it connects, and replace the values below.
  const bool no_implicit_reading = false;
  ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no_implicit_reading);
  if (!host.user.empty()) ssh_options_set(session, SSH_OPTIONS_USER, host.user.c_str());
  if (host.port != 0) {
    const unsigned port = static_cast<unsigned>(host.port);
    ssh_options_set(session, SSH_OPTIONS_PORT, &port);
  }
  const int strict = 1;  // ignores the file's value: "no" would make libssh accept a changed key
  ssh_options_set(session, SSH_OPTIONS_STRICTHOSTKEYCHECK, &strict);
  // libssh would write to standard error, between the ranks' lines.
  const int silent = SSH_LOG_NOLOG;
  ssh_options_set(session, SSH_OPTIONS_LOG_VERBOSITY, &silent);

  settings.key_name = option(session, SSH_OPTIONS_HOST);
  settings.address = host.address.empty() ? settings.key_name : host.address;
  settings.user = option(session, SSH_OPTIONS_USER);
  unsigned port = 0;
  if (ssh_options_get_port(session, &port) == SSH_OK && port != 0) {
    settings.port = static_cast<int>(port);
  }
  settings.home = home_folder();
  settings.proxy_command = expand(option(session, SSH_OPTIONS_PROXYCOMMAND), settings);
  // As in ssh_config(5): "none" disables an earlier ProxyCommand.
  if (settings.proxy_command == "none") settings.proxy_command.clear();
  return settings;
}

}  // namespace dtl
