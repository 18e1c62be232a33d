// Two jobs that intend the same cores: the one with the smaller name keeps its intention and waits
// to see what becomes of the other; the other one withdraws and waits likewise. The later one to
// bind sees the earlier one, so that they cannot both go on. An intention that stays for longer
// than kSettle is ignored, since anybody may leave one there, and nobody can tell whose it is. So
// an agent that was stopped just before its claim may still make it then: therefore each looks once
// more after its own, and releases it if there is another.
#include "agent/cores/core_owner.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "agent/cores/abstract_socket.h"
#include "agent/cores/ticket_name.h"
#include "agent/cores/tickets.h"
#include "agent/cores/user_name.h"
#include "base/error.h"
#include "base/random.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSettle{250};  // an intention that stays longer is ignored
constexpr milliseconds kLook{1};

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// 0 for less than that.
std::uint64_t whole_seconds(milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
}

auto order_of(const ClaimName& name) {
  return std::tie(name.job_id, name.number);
}

}  // namespace

CoreOwner::CoreOwner(std::string job_id, CpuSet allowed)
    : job_id_(std::move(job_id)), allowed_(std::move(allowed)) {}

std::vector<CoreClaim> CoreOwner::of_others() const {
  try {
    return claims_on_node(job_sockets_here(), allowed_, job_id_);
  } catch (const Error&) {
    return {};
  }
}

CoresClaimed CoreOwner::claim(const ClaimCores& order) {
  release();
  CoresClaimed result;
  if (order.cpus.empty()) return result;
  try {
    const ClaimName own{job_id_, boot_clock(), order.shared, RandomNumbers()(), order.cpus};
    result.taken = !(order.shared ? share(own) : own_alone(own, order.around));
    if (!result.taken && order.runs_s > 0) tell_end(own, std::chrono::seconds(order.runs_s));
  } catch (const Error& error) {
    release();
    result.problem = error.what();
    result.problem.resize(std::min(result.problem.size(), kMaxNameBytes));
  }
  if (result.taken) result.claims = of_others();
  return result;
}

void CoreOwner::intend(const ClaimName& own) {
  for (const std::string& name : write_claim_names(own)) sockets_.push_back(bind_abstract(name));
}

bool CoreOwner::share(const ClaimName& own) {
  intend(own);
  for (const Fd& socket : sockets_) listen_abstract(socket);
  return true;
}

// False, and nothing is claimed, if another job has one of the CPUs.
bool CoreOwner::own_alone(const ClaimName& own, const std::vector<std::string>& around) {
  const auto give_up = std::chrono::steady_clock::now() + kSettle;
  intend(own);
  Rivals rivals = look(own, around);
  while (!rivals.claimed) {
    const bool waits = std::chrono::steady_clock::now() < give_up;
    if (waits && rivals.one_goes_first) {
      release();
    } else if (sockets_.empty()) {
      intend(own);
      rivals = look(own, around);
      continue;
    } else if (!waits || !rivals.intended) {
      break;
    }
    std::this_thread::sleep_for(kLook);
    rivals = look(own, around);
  }
  if (!rivals.claimed) {
    for (const Fd& socket : sockets_) listen_abstract(socket);
    rivals = look(own, around);
  }
  if (rivals.claimed) release();
  return !rivals.claimed;
}

void CoreOwner::tell_end(const ClaimName& own, std::chrono::seconds runs) {
  const EndName end{own.job_id, own.since + runs, own.number};
  sockets_.push_back(bind_abstract(write_end_name(end)));
  listen_abstract(sockets_.back());
}

CoreOwner::Rivals CoreOwner::look(const ClaimName& own,
                                  const std::vector<std::string>& around) const {
  Rivals rivals;
  for (const SeenClaim& other : claims_of_others(job_sockets_here(), own.cpus, job_id_)) {
    if (other.says.shared || contains(around, other.says.job_id)) continue;
    if (!other.intended) rivals.claimed = true;
    if (other.intended) rivals.intended = true;
    if (other.intended && order_of(other.says) < order_of(own)) rivals.one_goes_first = true;
  }
  return rivals;
}

void CoreOwner::release() {
  sockets_.clear();
}

void CoreOwner::answer() {
  for (const Fd& socket : sockets_) accept_waiting(socket);
}

std::vector<CoreClaim> claims_on_node(const std::vector<NamedSocket>& sockets,
                                      const CpuSet& allowed, const std::string& own_job) {
  return summarize(claims_of_others(sockets, allowed, own_job), boot_clock());
}

std::vector<CoreClaim> summarize(const std::vector<SeenClaim>& claims, milliseconds now) {
  constexpr std::uint32_t kUnknownUser = UINT32_MAX;  // no process has it: it is (uid_t)-1
  struct Joined {
    milliseconds since{};
    CpuSet cpus;
    std::optional<milliseconds> until;
  };
  std::map<std::tuple<std::uint32_t, std::string, bool>, Joined> joined;
  for (const SeenClaim& claim : claims) {
    if (claim.intended) continue;
    const auto key =
        std::tuple(claim.user.value_or(kUnknownUser), claim.says.job_id, claim.says.shared);
    const auto [at, is_new] =
        joined.try_emplace(key, Joined{claim.says.since, claim.says.cpus, claim.until});
    if (is_new) continue;
    at->second.since = std::min(at->second.since, claim.says.since);
    at->second.cpus = at->second.cpus | claim.says.cpus;
  }
  std::vector<std::pair<milliseconds, CoreClaim>> sorted;
  for (auto& [key, value] : joined) {
    auto& [user, job, shared] = key;
    CoreClaim claim{job, user, "", whole_seconds(now - value.since), value.cpus, shared};
    // A job that is late still has a limit.
    if (value.until) claim.left_s = std::max<std::uint64_t>(whole_seconds(*value.until - now), 1);
    sorted.push_back({value.since, std::move(claim)});
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::map<std::pair<std::uint32_t, bool>, CpuSet> had;
  // Claims that have CPUs of the same user's older ones: jobs inside of jobs.
  std::size_t again = 0;
  std::vector<CoreClaim> result;
  for (auto& [since, claim] : sorted) {
    CpuSet& before = had[{claim.user_id, claim.shared}];
    if ((claim.cpus & before).empty() || ++again > kMaxAround) claim.cpus = claim.cpus - before;
    before = before | claim.cpus;
    if (claim.cpus.empty() || result.size() == kMaxClaims) continue;
    // Not above: it reads a file, and a user may have claimed the same CPUs many times.
    if (claim.user_id != kUnknownUser) claim.user = user_name(claim.user_id);
    result.push_back(std::move(claim));
  }
  return result;
}

}  // namespace dtl
