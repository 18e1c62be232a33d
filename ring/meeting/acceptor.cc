// A caller holds a place, and with it a descriptor, from accept to proof. All limits below are
// about who gets one of the places when there are too few.
#include "ring/meeting/acceptor.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace dtl::ring {
namespace {

constexpr std::size_t kMaxCounted = 64;  // addresses of strangers that are told apart
constexpr std::size_t kMaxNamed = 3;     // of these in a message
// A part of the program's descriptors: the rest is for its files and for the ring itself. Running
// out of descriptors would make the program fail in places that have nothing to do with the ring.
constexpr std::size_t kShareOfDescriptors = 4;

std::size_t places_for_callers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxPendingCallers;
  const auto share = static_cast<std::size_t>(limit.rlim_cur) / kShareOfDescriptors;
  return std::clamp(share, std::size_t{4}, kMaxPendingCallers);
}

}  // namespace

std::string caller_origin(const Address& address) {
  if (address.family() != AF_INET6) return address.host();
  sockaddr_in6 network{};
  std::memcpy(&network, address.get(), sizeof network);
  // One link's hosts all have the same of these, and the loopback address has no network.
  if (IN6_IS_ADDR_LINKLOCAL(&network.sin6_addr) || IN6_IS_ADDR_LOOPBACK(&network.sin6_addr)) {
    return address.host();
  }
  // The network is the upper half; the port is not in the text.
  std::memset(&network.sin6_addr.s6_addr[8], 0, 8);
  return Address(reinterpret_cast<const sockaddr*>(&network), sizeof network).host() + "/64";
}

Acceptor::Acceptor(const Identity& identity, Fd listener)
    : identity_(identity), listener_(std::move(listener)), places_(places_for_callers()) {}

void Acceptor::add_to_poll(std::vector<pollfd>& set) const {
  if (!listener_.valid()) return;
  if (!is_paused()) set.push_back({listener_.get(), POLLIN, 0});
  for (const Pending& pending : pending_) set.push_back({pending.handshake.fd(), POLLIN, 0});
}

void Acceptor::count_stranger(Counts& counts, const std::string& origin) const {
  // An attacker may have many addresses, and each would take memory.
  const bool is_room = counts.size() < kMaxCounted || counts.count(origin) != 0;
  ++counts[is_room ? origin : ""];
}

// The oldest caller of this address that had its time. A younger one may be a rank that is on its
// way.
bool Acceptor::displace_one_of(const std::string& origin) {
  const auto now = Clock::now();
  const auto oldest = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    const Clock::duration patience =
        pending.handshake.has_replied() ? Clock::duration(kProofPatience) : kMutePatience;
    return pending.origin == origin && now - pending.since >= patience;
  });
  if (oldest == pending_.end()) return false;
  count_stranger(strangers_, origin);
  pending_.erase(oldest);
  return true;
}

// An address that has as many places as are free is over its share. It gets another place only
// where the address with the most places has a caller that had its time.
bool Acceptor::make_room(const std::string& origin) {
  std::map<std::string, std::size_t> held;
  for (const Pending& pending : pending_) ++held[pending.origin];
  const std::size_t own = held[origin];
  if (pending_.size() < places_ && own < places_ - pending_.size()) return true;
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(held.begin(), held.end(), fewer);
  return displace_one_of(own == most->second ? origin : most->first);
}

// Callers for whom there is no place are not left in the listener's queue, where they would keep
// out others: ranks come again.
void Acceptor::accept_all() {
  if (is_paused()) return;
  // A bound, so that a flood of callers does not keep handshakes from going on.
  for (std::size_t i = 0; i < places_; ++i) {
    Accepted caller = accept_from(listener_.get());
    if (caller.shortage != 0) {
      // Some come back as callers go, or as the program closes files.
      shortage_ = caller.shortage;
      paused_until_ = Clock::now() + kShortagePause;
    }
    if (!caller.fd.valid()) return;
    std::string origin = caller_origin(caller.from);
    if (!make_room(origin)) {
      count_stranger(strangers_, origin);
      continue;
    }
    // As on the connecting side: the handshake is a dialogue.
    send_without_delay(caller.fd.get());
    pending_.push_back(
        {ServerHandshake(identity_, std::move(caller.fd)), std::move(origin), Clock::now()});
  }
}

void Acceptor::advance(std::vector<Caller>& proved) {
  const auto now = Clock::now();
  for (auto it = pending_.begin(); it != pending_.end();) {
    const Progress progress = it->handshake.step();
    if (progress == Progress::kDone) {
      proved.push_back({it->handshake.take(), it->handshake.hello()});
    }
    const bool is_over = progress != Progress::kAgain || now - it->since >= kHandshakeDeadline;
    if (is_over && progress != Progress::kDone) count_stranger(strangers_, it->origin);
    it = is_over ? pending_.erase(it) : std::next(it);
  }
}

Clock::time_point Acceptor::due() const {
  if (is_paused()) return paused_until_;
  return pending_.empty() ? Clock::time_point::max() : pending_.front().since + kHandshakeDeadline;
}

std::vector<Caller> Acceptor::step() {
  std::vector<Caller> proved;
  if (!listener_.valid()) return proved;
  advance(proved);
  accept_all();
  advance(proved);
  return proved;
}

std::string Acceptor::strangers() const {
  Counts counts = strangers_;
  // Also those that hold a place now: at the end of the meeting they have had their time.
  for (const Pending& pending : pending_) count_stranger(counts, pending.origin);
  if (counts.empty()) return {};
  std::vector<std::pair<std::uint64_t, std::string>> most;
  std::uint64_t all = 0;
  for (const auto& [origin, count] : counts) {
    all += count;
    if (!origin.empty()) most.emplace_back(count, origin);
  }
  std::sort(most.rbegin(), most.rend());
  std::vector<std::string> named;
  for (const auto& [count, origin] : most) {
    if (named.size() == kMaxNamed) break;
    named.push_back(fmt::format("{} from {}", count, origin));
  }
  if (counts.size() > named.size()) named.emplace_back("others from elsewhere");
  return fmt::format("{} did not prove to belong to this job: {}",
                     plural(static_cast<std::int64_t>(all), "caller"), join(named, ", "));
}

}  // namespace dtl::ring
