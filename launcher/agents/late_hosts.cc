// One permanent failure ends the wait for all hosts: the job cannot start any more, and the user
// must hear of it now, not after the patience of 300 s.
#include "launcher/agents/late_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/request/name_list.h"

namespace dtl {
namespace {

// Whether a retry may find the host. A host that answered and refused the key, for example, will
// refuse it again.
bool is_absent(const Error& failure) {
  return failure.status() == Exit::kUnreachable || failure.status() == Exit::kTryAgain;
}

// Doubles up to a second, because a job begins at most this long after its last pod. The random
// half spreads the hosts' queries to the name server.
std::chrono::milliseconds back_off(int tries) {
  RandomNumbers numbers;
  const auto most = std::min<std::chrono::milliseconds>(kFirstHostPause * (1 << std::min(tries, 8)),
                                                        kLongestHostPause);
  return std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(most.count() / 2, most.count())(numbers));
}

}  // namespace

LateHosts::Wait::Wait(LateHosts& all, std::string host)
    : all_(all), host_(std::move(host)), began_(Clock::now()) {
  // A restart uses the same LateHosts for its hosts: forget what was given up before.
  if (all_.tried_++ > 0) return;
  all_.given_up_ = false;
  all_.began_ = began_;
  all_.next_line_ = began_ + kLateHostLine;
}

LateHosts::Wait::~Wait() {
  all_.late_.erase(host_);
  --all_.tried_;
}

std::chrono::milliseconds LateHosts::Wait::after(const Error& failure) {
  if (!is_absent(failure)) {
    all_.given_up_ = true;
    throw failure;
  }
  const Clock::time_point now = Clock::now();
  if (all_.given_up_ || now >= began_ + all_.options_.patience) {
    std::string reason =
        fmt::format("{}, {} s after the first try", failure.reason(),
                    std::chrono::round<std::chrono::seconds>(now - began_).count());
    const std::string remark = all_.options_.remark(host_);
    if (!remark.empty()) reason += "; " + remark;
    throw Error(failure.status(), failure.attempted(), reason, all_.options_.hint(host_));
  }
  all_.late_[host_] = fmt::format("{}: {}", failure.attempted(), failure.reason());
  all_.say_who_is_late(now);
  return back_off(tries_++);
}

void LateHosts::say_who_is_late(Clock::time_point now) {
  if (now < next_line_) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - began_);
  // Counts from the beginning, so that the lines come at 10, 20, 30 s.
  next_line_ = began_ +
               std::chrono::floor<std::chrono::seconds>(seconds / kLateHostLine * kLateHostLine) +
               kLateHostLine;
  std::vector<std::string> names;
  for (const auto& [host, why] : late_) names.push_back(host);
  // One host's reason is enough: usually all have the same.
  log_notice(fmt::format("waiting for {} since {} s: {} ({})",
                         plural(static_cast<std::int64_t>(names.size()), "host"), seconds.count(),
                         first_names(names), late_.begin()->second));
}

}  // namespace dtl
