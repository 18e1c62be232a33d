#pragma once
// What known_hosts files say about a host's key, and what follows from it. Pure: hashed names are
// compared, and keys read, by the caller; host_key.cc does it with libssh.
//
// The verdict is ours and not libssh's, because libssh lets a changed key pass when ~/.ssh/config
// says "StrictHostKeyChecking no", does not look at @revoked or at "!", and takes a host whose line
// it cannot read for an unknown one.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

enum class KnownHostsMarker { kNone, kRevoked, kCertAuthority, kUnknown };

// As cut from the file; nothing is interpreted but the marker.
struct KnownHostsLine {
  std::string where;  // "FILE:LINE"
  KnownHostsMarker marker = KnownHostsMarker::kNone;
  std::string hosts;  // patterns, or one hashed name
  std::string key;    // what follows them
};
// The lines that are neither empty nor comments.
std::vector<KnownHostsLine> split_known_hosts(std::string_view text, const std::string& path);

// Whether a list of patterns is about the host, as sshd(8), SSH_KNOWN_HOSTS FILE FORMAT, and
// OpenSSH's match_pattern_list() have it: "*" and "?" are wildcards, case does not count, and a "!"
// pattern that matches takes the host out, whatever the others say. host: "node1", "[node1]:2222".
bool match_host_patterns(std::string_view patterns, std::string_view host);

// "|1|SALT|HASH"
bool is_hashed(std::string_view hosts);

// A line whose patterns match the host.
struct KnownKey {
  std::string where;
  KnownHostsMarker marker = KnownHostsMarker::kNone;
  bool unreadable = false;  // no key could be read from it
  std::string type;         // "ssh-ed25519"
  std::string fingerprint;  // "SHA256:..."
};

enum class HostKeyState { kKnown, kUnknown, kChanged, kOtherType, kRevoked, kUnreadable };
struct HostKeyVerdict {
  HostKeyState state = HostKeyState::kUnknown;
  KnownKey line;                // the one that decided; empty for kUnknown
  bool only_authority = false;  // kUnknown, but a @cert-authority line matches
};
// `known`: all lines about the host. type, fingerprint: of the key that the server shows.
HostKeyVerdict judge_host_key(const std::vector<KnownKey>& known, const std::string& type,
                              const std::string& fingerprint);

}  // namespace dtl
