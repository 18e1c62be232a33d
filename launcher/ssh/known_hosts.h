#pragma once
// Judges a host's key by the lines of known_hosts files. Pure: the caller compares hashed names and
// reads keys; host_key.cc does it with libssh.
//
// libssh's own verdict is not used: it accepts a changed key if ~/.ssh/config says
// "StrictHostKeyChecking no", ignores @revoked and "!", and takes a host whose line it cannot read
// for an unknown one.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

enum class KnownHostsMarker { kNone, kRevoked, kCertAuthority, kUnknown };

// As split from the file; only the marker is interpreted.
struct KnownHostsLine {
  std::string where;  // "FILE:LINE"
  KnownHostsMarker marker = KnownHostsMarker::kNone;
  std::string hosts;  // patterns, or one hashed name
  std::string key;    // the text after them
};
// The lines that are neither empty nor comments.
std::vector<KnownHostsLine> split_known_hosts(std::string_view text, const std::string& path);

// Whether a list of patterns matches the host, as in sshd(8), SSH_KNOWN_HOSTS FILE FORMAT, and
// OpenSSH's match_pattern_list(): "*" and "?" are wildcards, case is ignored, and a matching "!"
// pattern excludes the host whatever the others say. host: "node1", "[node1]:2222".
bool match_host_patterns(std::string_view patterns, std::string_view host);

// "|1|SALT|HASH"
bool is_hashed(std::string_view hosts);

// A line whose patterns match the host.
struct KnownKey {
  std::string where;
  KnownHostsMarker marker = KnownHostsMarker::kNone;
  bool unreadable = false;  // its key could not be read
  std::string type;         // "ssh-ed25519"
  std::string fingerprint;  // "SHA256:..."
};

enum class HostKeyState { kKnown, kUnknown, kChanged, kOtherType, kRevoked, kUnreadable };
struct HostKeyVerdict {
  HostKeyState state = HostKeyState::kUnknown;
  KnownKey line;                // the line that decided; empty for kUnknown
  bool only_authority = false;  // kUnknown, but a @cert-authority line matches
};
// `known`: all lines that concern the host. type, fingerprint: of the server's key.
HostKeyVerdict judge_host_key(const std::vector<KnownKey>& known, const std::string& type,
                              const std::string& fingerprint);

}  // namespace dtl
