#pragma once
// What known_hosts files say about a host's key, and what follows from it. Pure: the matching of
// (possibly hashed) host patterns is the caller's; ssh_host_key.cc does it with libssh.
//
// The verdict is ours and not libssh's, because libssh lets a changed key pass when ~/.ssh/config
// says "StrictHostKeyChecking no", does not look at @revoked, and takes a host whose line it cannot
// read for an unknown one.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

enum class KnownHostsMarker { kNone, kRevoked, kCertAuthority, kUnknown };

struct KnownHostsLine {
  std::string where;  // "FILE:LINE"
  KnownHostsMarker marker = KnownHostsMarker::kNone;
  std::string entry;  // the line without its marker
};
// The lines that are neither empty nor comments.
std::vector<KnownHostsLine> split_known_hosts(std::string_view text, const std::string& path);

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
HostKeyVerdict judge_host_key(const std::vector<KnownKey>& known, const std::string& type,
                              const std::string& fingerprint);

}  // namespace dtl
