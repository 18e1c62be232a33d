// The eventfd stays readable once it is written, so every later wait and question ends at once.
#include "launcher/session/membership_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

namespace dtl {

namespace {

// What the user reads about hosts that are back, new or leaving; singular and plural.
struct Words {
  const char *again, *many_again, *listed, *many_listed, *leaving, *many_leaving;
};
// Other hosts are asked and listed; a scheduler's nodes arrive by themselves and are told to end.
constexpr Words kOfHosts = {"answers again",    "answer again",        "is newly listed",
                            "are newly listed", "is no longer listed", "are no longer listed"};
constexpr Words kOfNodes = {"has come again", "have come again", "has come",
                            "have come",      "is to end",       "are to end"};

}  // namespace

std::string describe_change(const Membership& members, const HostsChange& change) {
  const Words& words = members.of_nodes ? kOfNodes : kOfHosts;
  std::vector<std::string> again, listed, pieces;
  for (const std::string& name : change.joining) {
    const auto past = members.past.find(name);
    const bool lost = past != members.past.end() && past->second.losses > 0;
    (lost ? again : listed).push_back(name);
  }
  const auto tell = [&](const std::vector<std::string>& names, const char* one, const char* many) {
    if (names.empty()) return;
    pieces.push_back(fmt::format("{} {}", join(names, ","), names.size() == 1 ? one : many));
  };
  tell(again, words.again, words.many_again);
  tell(listed, words.listed, words.many_listed);
  tell(change.leaving, words.leaving, words.many_leaving);
  // When some nodes must end, the remaining ones may be told to end too.
  const std::string_view on = change.leaving.empty()   ? " to go on with more"
                              : members.of_nodes       ? ""
                              : change.joining.empty() ? " to go on without"
                                                       : " to go on with the others";
  return fmt::format("{}: stopping the ranks{}", join(pieces, "; "), on);
}

MembershipWatch::MembershipWatch(Membership members, HostQuestions questions,
                                 std::shared_ptr<SessionControl> control, Clock::time_point began)
    : members_(std::move(members)),
      questions_(std::move(questions)),
      control_(std::move(control)),
      began_(began),
      end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!end_.valid()) throw system_error("cannot watch for hosts");
  thread_ = std::thread([this] { run(); });
}

MembershipWatch::~MembershipWatch() {
  std::optional<HostsChange> unused;
  stop(unused);
}

Membership MembershipWatch::stop(std::optional<HostsChange>& change) {
  if (thread_.joinable()) {
    // The thread owns the membership until it has ended.
    ::eventfd_write(end_.get(), 1);
    thread_.join();
  }
  change = change_;
  return members_;
}

bool MembershipWatch::waits(std::chrono::milliseconds time) const {
  pollfd waits[] = {{end_.get(), POLLIN, 0}, {questions_.news, POLLIN, 0}};
  // poll ignores a descriptor of -1; then only the timeout counts.
  ::poll(waits, 2, static_cast<int>(time.count()));
  return waits[0].revents == 0;
}

void MembershipWatch::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by the job's thread
  const auto now = [this] { return std::chrono::duration_cast<JobTime>(Clock::now() - began_); };
  while (waits(kLookForHosts)) {
    if (questions_.discover) list();
    const std::vector<Host> asked = hosts_to_ask(members_, now());
    const std::vector<bool> there =
        asked.empty() ? std::vector<bool>{} : questions_.probe(asked, end_.get());
    if (!waits(0ms)) return;  // a question that was given up has no answer
    note_answers(members_, asked, there);
    change_ = change_of_hosts(members_, now());
    if (!change_) continue;
    control_->say(describe_change(members_, *change_));
    // The session ends the ranks in order; stop() returns the reason.
    control_->change_hosts();
    return;
  }
}

// Reports a failure only if it differs from the last one: it may last for hours.
void MembershipWatch::list() {
  std::string problem;
  try {
    const std::vector<Host> listed = questions_.discover(end_.get());
    if (!waits(0ms)) return;
    const JobTime now = std::chrono::duration_cast<JobTime>(Clock::now() - began_);
    list_hosts(members_, listed, now);
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!waits(0ms)) return;
  if (!problem.empty() && problem != problem_)
    control_->say(problem + "; the hosts stay as they are");
  // Reports the end of a failure once.
  if (problem.empty() && !problem_.empty()) control_->say("--discover lists hosts again");
  problem_ = problem;
}

}  // namespace dtl
