#include "launcher/ssh/known_hosts_index.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kHashMark = "|1|";  // HMAC-SHA1, the only kind there is

std::optional<std::string> decode_digest(std::string_view base64) {
  auto bytes = decode_base64(base64);
  if (!bytes || bytes->size() != HmacSha1::Digest().size()) return std::nullopt;
  return bytes;
}

}  // namespace

KnownHostsIndex::KnownHostsIndex(std::string_view text, const std::string& path)
    : lines_(split_known_hosts(text, path)) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::string& hosts = lines_[i].hosts;
    is_hashed(hosts) ? add_hashed(i, hosts) : add(i, hosts);
  }
}

void KnownHostsIndex::add(std::size_t line, const std::string& hosts) {
  if (hosts.find_first_of("*?!") != hosts.npos) {
    patterned_.push_back(line);
    return;
  }
  for (const std::string& name : split(to_lower(hosts), ',')) {
    std::vector<std::size_t>& found = by_name_[name];
    if (found.empty() || found.back() != line) found.push_back(line);
  }
}

// As OpenSSH reads it: salt and digest have 20 bytes each, and other lines are about nobody.
void KnownHostsIndex::add_hashed(std::size_t line, const std::string& hosts) {
  if (!hosts.starts_with(kHashMark)) return;
  const std::vector<std::string> parts = split(hosts.substr(kHashMark.size()), '|');
  if (parts.size() != 2) return;
  const auto salt = decode_digest(parts[0]), digest = decode_digest(parts[1]);
  if (!salt || !digest) return;
  Hashed entry{line, HmacSha1(*salt), {}};
  std::memcpy(entry.digest.data(), digest->data(), digest->size());
  hashed_.push_back(std::move(entry));
}

std::vector<KnownHostsLine> KnownHostsIndex::about(const std::string& host) const {
  std::vector<std::size_t> found;
  // An over-long name is checked as a pattern too: OpenSSH gives up on the list that holds it.
  if (const auto named = by_name_.find(host); named != by_name_.end()) found = named->second;
  std::erase_if(found, [&](std::size_t i) { return !match_host_patterns(lines_[i].hosts, host); });
  for (const std::size_t i : patterned_) {
    if (match_host_patterns(lines_[i].hosts, host)) found.push_back(i);
  }
  for (const Hashed& entry : hashed_) {
    if (entry.salted.of(host) == entry.digest) found.push_back(entry.line);
  }
  std::sort(found.begin(), found.end());
  std::vector<KnownHostsLine> lines;
  lines.reserve(found.size());
  for (const std::size_t i : found) lines.push_back(lines_[i]);
  return lines;
}

}  // namespace dtl
