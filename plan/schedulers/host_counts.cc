// Adds up slots for the batch systems. Users' hostfiles have other rules (plan/request/hostfile.h):
// a scheduler's list has no ranges, keys or comments, so they are rejected here.
#include "plan/schedulers/host_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostlist.h"

namespace dtl {

void HostCounts::add(std::string_view name, int slots, const TextPosition& position) {
  const std::string host(name);
  check_host_name(host, position);
  if (host.size() > kMaxHostNameBytes) throw position.error("the name is too long");
  // Lists may repeat a host in another case or form.
  const auto [found, is_new] = index_.try_emplace(canonical_name(host), hosts_.size());
  if (is_new) {
    if (hosts_.size() == kMaxHosts) {
      throw position.error(fmt::format("more than {} hosts", kMaxHosts));
    }
    Host& added = hosts_.emplace_back();
    added.name = host;
    added.slots = 0;
    added.where = where_;
  }
  int& sum = *hosts_[found->second].slots;
  sum += slots;
  // Checked at each addition, so that the sum cannot overflow.
  if (sum > kMaxRanks) {
    throw position.error(fmt::format("'{}' has more than {} slots", host, kMaxRanks));
  }
}

std::vector<Host> HostCounts::take(const TextPosition& start) {
  if (hosts_.empty()) throw start.error("it names no host");
  return std::move(hosts_);
}

void for_each_line(std::string_view text, const std::string& path,
                   const std::function<void(const std::vector<Word>&, const TextPosition&)>& use) {
  if (text.size() > kMaxHostfileBytes) {
    throw TextPosition{path + ":1:"}.error(fmt::format("larger than {} bytes", kMaxHostfileBytes));
  }
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const TextPosition start{fmt::format("{}:{}:", path, number)};
    const std::vector<Word> words = words_of(line);
    if (!words.empty()) use(words, start);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace dtl
