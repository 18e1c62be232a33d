// A line about this host that cannot be parsed must not make the host look new.
#include "launcher/ssh/known_hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dtl {
namespace {

KnownHostsMarker marker_of(std::string_view word) {
  if (word == "@revoked") return KnownHostsMarker::kRevoked;
  if (word == "@cert-authority") return KnownHostsMarker::kCertAuthority;
  // A marker of a newer OpenSSH.
  return KnownHostsMarker::kUnknown;
}

// OpenSSH rejects longer patterns, and with them the whole list.
constexpr std::size_t kMaxPatternBytes = 1023;

// Greedy, with one position to backtrack to: the time is bounded by the product of both lengths.
bool match_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = pattern.npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

}  // namespace

bool match_host_patterns(std::string_view patterns, std::string_view host) {
  const std::string name = to_lower(host);
  bool matches = false;
  for (const std::string& each : split(to_lower(patterns), ',')) {
    const bool negated = each.starts_with('!');
    const std::string_view pattern = std::string_view(each).substr(negated ? 1 : 0);
    // As OpenSSH does; otherwise only one of the two would know the host.
    if (pattern.size() >= kMaxPatternBytes) return false;
    if (!match_pattern(pattern, name)) continue;
    // Whatever other patterns match.
    if (negated) return false;
    matches = true;
  }
  return matches;
}

bool is_hashed(std::string_view hosts) {
  return hosts.starts_with('|');
}

std::vector<KnownHostsLine> split_known_hosts(std::string_view text, const std::string& path) {
  std::vector<KnownHostsLine> lines;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    std::string_view rest = trim(raw);
    if (rest.empty() || rest[0] == '#') continue;
    KnownHostsLine line;
    line.where = fmt::format("{}:{}", path, number);
    if (rest[0] == '@') {
      const std::size_t blank = std::min(rest.find_first_of(" \t"), rest.size());
      line.marker = marker_of(rest.substr(0, blank));
      rest = trim(rest.substr(blank));
    }
    const std::size_t blank = std::min(rest.find_first_of(" \t"), rest.size());
    line.hosts = rest.substr(0, blank);
    line.key = trim(rest.substr(blank));
    lines.push_back(std::move(line));
  }
  return lines;
}

HostKeyVerdict judge_host_key(const std::vector<KnownKey>& known, const std::string& type,
                              const std::string& fingerprint) {
  const KnownKey *same = nullptr, *changed = nullptr, *other = nullptr, *unreadable = nullptr;
  bool authority = false;
  for (const KnownKey& key : known) {
    switch (key.marker) {
      case KnownHostsMarker::kRevoked:
        // An unreadable revocation may concern this very key.
        if (key.unreadable) return {HostKeyState::kUnreadable, key};
        if (key.fingerprint == fingerprint) return {HostKeyState::kRevoked, key};
        break;
      case KnownHostsMarker::kCertAuthority:
        authority = true;
        break;
      case KnownHostsMarker::kUnknown:
        unreadable = &key;
        break;
      case KnownHostsMarker::kNone:
        if (key.unreadable) {
          unreadable = &key;
        } else if (key.fingerprint == fingerprint) {
          same = &key;
        } else if (key.type == type) {
          changed = &key;
        } else {
          other = &key;
        }
        break;
    }
  }
  // A host may have several keys: one match is enough. Revoked keys were refused above.
  if (same) return {HostKeyState::kKnown, *same};
  // A changed key is more serious than an unreadable line.
  if (changed) return {HostKeyState::kChanged, *changed};
  if (unreadable) return {HostKeyState::kUnreadable, *unreadable};
  if (other) return {HostKeyState::kOtherType, *other};
  return {HostKeyState::kUnknown, {}, authority};
}

}  // namespace dtl
