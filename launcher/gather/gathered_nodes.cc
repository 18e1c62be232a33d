// During an epoch another thread asks list() and there() whether hosts may join, so a mutex guards
// the names. The room has its own lock.
#include "launcher/gather/gathered_nodes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/jobs/fence_hosts.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kProgress = 10s;        // between two lines about a wait
constexpr auto kLastCall = 5s;         // without a newcomer, then a job begins with fewer
constexpr auto kTellPatience = 5s;     // for the other nodes to receive the exit status
constexpr std::size_t kMostNames = 8;  // of nodes, in a line

// Readable when a signal that ends the job has arrived. The session, which handles them later, does
// not run yet. The signals are blocked so that none is lost between two polls.
class SignalsWhileWaiting {
 public:
  SignalsWhileWaiting() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      if (!is_ignored(signal)) ::sigaddset(&signals, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
    fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.valid()) throw system_error("cannot wait for signals");
  }
  ~SignalsWhileWaiting() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWhileWaiting(const SignalsWhileWaiting&) = delete;
  SignalsWhileWaiting& operator=(const SignalsWhileWaiting&) = delete;

  int descriptor() const { return fd_.get(); }
  std::optional<int> take() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  Fd fd_;
};

std::string name_for(const std::string& called) {
  return called == "localhost" ? "node" : called;
}

std::size_t count(const std::vector<bool>& there) {
  return static_cast<std::size_t>(std::count(there.begin(), there.end(), true));
}

}  // namespace

GatheredNodes::GatheredNodes(const NodeRole& role)
    : role_(role),
      least_(static_cast<std::size_t>(role.nodes().least)),
      most_(static_cast<std::size_t>(role.nodes().most)),
      called_(most_),
      names_(most_) {
  called_[0] = own_host_name();
  names_[0] = name_for(called_[0]);
}

// ---- until they have connected

void GatheredNodes::open_room() {
  const SchedulerEvidence& evidence = role_.evidence();
  JoinRoomOptions options;
  options.token = role_.token();
  const auto port = static_cast<std::uint16_t>(evidence.coordinator_port);
  options.ports = {port, port};
  options.expected.job = evidence.job_id;
  options.expected.restart = evidence.restart;
  options.expected.count = static_cast<int>(most_) - 1;
  options.expected.first_rank = 1;
  options.expected.by_wish = !evidence.node_rank;
  options.reopens = role_.nodes_come_again() || evidence.elastic;
  options.told_to_stop = [this](std::size_t place, const std::string& node) {
    told_to_stop(place + 1, node);
  };
  auto room = std::make_unique<JoinRoom>(std::move(options));
  const std::lock_guard lock(mutex_);
  room_ = std::move(room);
}

// Runs on the room's thread.
void GatheredNodes::told_to_stop(std::size_t place, const std::string& node) {
  bool gathering = false;
  {
    const std::lock_guard lock(mutex_);
    gathering = gathering_;
    if (!room_) return;  // the room was just opened
  }
  const std::string told = node + ": told to end by its scheduler";
  const std::string by = std::string(scheduler_name(role_.evidence().scheduler)) + " ends it";
  // list() leaves the node out, and ElasticHosts sees that; otherwise the session handles it. The
  // result is reported later, because the scheduler may be ending the whole job.
  const bool elastic = role_.nodes_come_again() || role_.evidence().elastic;
  const bool idle = gathering || (elastic && room_->is_idle(place - 1));
  if (idle || elastic) log_notice(told);
  if (idle) {  // nothing of the job runs there
    room_->dismiss(place - 1, 128 + SIGTERM);
  } else if (elastic) {
    return;
  } else if (!control_->host_goes(name_of(place), by)) {
    // A wait between two epochs sees the signal.
    log_notice(told + "; the job ends with it");
    ::kill(::getpid(), SIGTERM);
  }
}

// By place: which nodes take part now.
std::vector<bool> GatheredNodes::there() const {
  const std::vector<std::string> present = room_->present();
  const std::vector<bool> leaving = room_->leaving();
  std::vector<bool> all = {true};
  for (std::size_t i = 0; i < present.size(); ++i) {
    all.push_back(!present[i].empty() && !leaving[i]);
  }
  return all;
}

// The missing nodes without which the job cannot begin; empty: none.
std::string GatheredNodes::missing(const std::vector<bool>& there) const {
  if (role_.evidence().elastic) {
    const std::size_t present = count(there);
    if (present >= least_) return {};
    return plural(static_cast<std::int64_t>(least_ - present), "node") + " more";
  }
  std::vector<std::string> absent;
  for (std::size_t place = 0; place < most_; ++place) {
    if (!there[place]) absent.push_back(std::to_string(place));
  }
  const std::size_t all = absent.size();
  if (all == 0) return {};
  absent.resize(std::min(all, kMostNames));
  return fmt::format("{}{} {}{}", role_.are_tasks() ? "task" : "node", all == 1 ? "" : "s",
                     dtl::join(absent, ", "),
                     all > kMostNames ? fmt::format(" and {} more", all - kMostNames) : "");
}

Error GatheredNodes::too_late(const std::string& absent) const {
  const bool pods = host_access(role_.evidence()).to_pod();
  return Error(
      Exit::kTimeout, absent,
      fmt::format("not there after {} s at port {}", role_.patience().count(), room_->port()),
      fmt::format("{}, or --start-timeout SECONDS",
                  pods ? "kubectl get pods" : "see what they say"));
}

GatheredNodes::Gathered GatheredNodes::gather() {
  const SignalsWhileWaiting signals;
  open_room();
  const Clock::time_point began = Clock::now(), end = began + role_.patience();
  Clock::time_point next_line = began + kProgress, last_call = began + kLastCall;
  for (std::size_t before = 0;;) {
    room_->changed();
    const Clock::time_point now = Clock::now();
    const std::vector<bool> here = there();
    const std::size_t present = count(here);
    if (std::exchange(before, present) < present) last_call = now + kLastCall;
    const std::string absent = missing(here);
    if (absent.empty() && (present == most_ || now >= last_call)) break;
    if (now >= end && absent.empty()) break;
    if (now >= end) throw too_late(absent);
    if (now >= next_line) {
      next_line += kProgress;
      log_notice(fmt::format("waiting for {} since {} s", absent.empty() ? "more nodes" : absent,
                             (now - began) / 1s));
    }
    pollfd waits[] = {{room_->change_descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    const auto until = std::min(end, absent.empty() ? std::min(last_call, next_line) : next_line);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
    ::poll(waits, 2, static_cast<int>(left));
    if (const auto signal = signals.take()) return {{}, 128 + *signal};
  }
  {
    const std::lock_guard lock(mutex_);
    gathering_ = false;
  }
  name_nodes();
  const std::vector<bool> here = there();
  std::string hosts;
  for (std::size_t place = 0; place < most_; ++place) {
    if (!here[place]) continue;
    hosts += (hosts.empty() ? "" : ",") + name_of(place);
    if (const auto& slots = role_.evidence().ranks_per_node) hosts += fmt::format(":{}", *slots);
  }
  return {hosts, 0};
}

// ---- names and places

// Each node gets its own name, even if all call themselves "localhost". A place that the scheduler
// has numbered keeps its name when another node takes it.
void GatheredNodes::name_nodes() {
  const std::vector<std::string> present = room_->present();
  const std::lock_guard lock(mutex_);
  const bool fixed = role_.evidence().node_rank.has_value();
  for (std::size_t place = 1; place < most_; ++place) {
    const std::string& called = present[place - 1];
    const bool known = !called_[place].empty();
    if (called.empty() || called == called_[place] || (known && fixed)) continue;
    called_[place] = called;
    const std::string name = name_for(called);
    names_[place].clear();
    const bool taken = std::find(names_.begin(), names_.end(), name) != names_.end();
    names_[place] =
        taken ? fmt::format("{}-{}{}", name, role_.are_tasks() ? "task" : "", place) : name;
  }
}

// The nodes that are there and not about to end, in the order of their places. A lost node may come
// again.
std::vector<Host> GatheredNodes::list() {
  name_nodes();
  const std::vector<bool> leaving = room_->leaving();
  std::vector<Host> hosts;
  for (std::size_t place = 0; place < most_; ++place) {
    Host host;
    host.name = name_of(place);
    host.slots = role_.evidence().ranks_per_node;
    host.access = access_of(place);
    const bool listed = place == 0 || (!host.name.empty() && !leaving[place - 1]);
    if (listed) hosts.push_back(std::move(host));
  }
  return hosts;
}

void GatheredNodes::let_leavers_go() {
  const std::vector<bool> leaving = room_->leaving();
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    if (leaving[i]) room_->dismiss(i, 128 + SIGTERM);
  }
}

std::string GatheredNodes::name_of(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  return names_[place];
}

// Returns most_ if no node has this name.
std::size_t GatheredNodes::place_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

// The scheduler has another name for a task, and for one of several nodes of the same name.
HostAccess GatheredNodes::access_of(std::size_t place) const {
  const SchedulerEvidence& evidence = role_.evidence();
  HostAccess access = host_access(evidence);
  const std::lock_guard lock(mutex_);
  const bool listed = evidence.hosts.size() == most_;
  access.name = listed ? evidence.hosts[place].name : split(called_[place], '.').front();
  return access;
}

// ---- the job

void GatheredNodes::introduce(std::vector<Host>& hosts) const {
  for (Host& host : hosts) {
    const std::size_t place = place_of(host.name);
    if (place < most_) host.access = access_of(place);
  }
}

void GatheredNodes::serve(SessionOptions& options, const StartOptions& start) const {
  options.start_agent = starter(start);
  options.control = control_;
  options.job.one_sigterm = true;
  options.tree = 0;
  options.before_stop = [this] { room_->about_to_stop(); };
}

AgentStarter GatheredNodes::starter(StartOptions start) const {
  start.service = false;  // the scheduler would not control it
  return [this, start](asio::io_context& context,
                       Host host) -> awaitable<std::unique_ptr<AgentStream>> {
    const std::size_t place = place_of(host.name);
    if (place == 0) return start_local_agent(context, start);
    return start_on(context, place);
  };
}

awaitable<std::unique_ptr<AgentStream>> GatheredNodes::start_on(asio::io_context& context,
                                                                std::size_t place) const {
  if (place == most_) throw Error(Exit::kUnreachable, "cannot start agent", "its node is gone");
  co_return room_->start_agent(context, place - 1);
}

AgentRunner GatheredNodes::runner(const StartOptions& start) const {
  return
      [this, start](asio::io_context& context, Host host,
                    std::vector<std::string> arguments) -> awaitable<std::unique_ptr<AgentStream>> {
        const std::size_t place = place_of(host.name);
        if (place == 0) {
          host.name = "localhost";
          co_return co_await run_agent(context, host, start, std::move(arguments));
        }
        if (place == most_ || room_->present()[place - 1].empty()) {
          throw Error(Exit::kUnreachable, "cannot ask its agent", "its node is gone");
        }
        co_return room_->start_agent(context, place - 1, arguments);
      };
}

std::vector<Host> GatheredNodes::still_here(std::vector<Host> hosts) const {
  std::erase_if(hosts, [here = there(), this](const Host& host) {
    const std::size_t place = place_of(host.name);
    return place == most_ || !here[place];
  });
  return hosts;
}

// A node that replaces a lost one may be on another machine: the lost node's processes get their
// time to end, wherever they are.
std::vector<Fenced> GatheredNodes::fence(const std::vector<Host>& hosts, const AgentRunner& run,
                                         const std::string& job_id) const {
  const auto may_run = [this](const Host& host) {
    const std::size_t place = place_of(host.name);
    return place > 0 && place < most_ && room_->may_run_elsewhere(place - 1);
  };
  std::vector<Fenced> fenced(hosts.size());
  std::vector<Host> asked;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (may_run(hosts[i])) continue;
    asked.push_back(hosts[i]);
    places.push_back(i);
  }
  const std::vector<Fenced> answers = fence_hosts(asked, run, job_id);
  for (std::size_t i = 0; i < answers.size(); ++i) fenced[places[i]] = answers[i];
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    // Also if it was lost during the question: another node may have answered in its place.
    if (!may_run(hosts[i])) continue;
    fenced[i].clean = false;
    fenced[i].reason = "what was lost with its node may not have ended yet";
  }
  return fenced;
}

void GatheredNodes::answer_for(RestartOptions& restarts, const StartOptions& start,
                               const std::string& job_id) {
  restarts.fence = [this, run = runner(start), job_id](const std::vector<Host>& hosts) {
    return fence(hosts, run, job_id);
  };
  if (role_.nodes_come_again() && !restarts.elastic) {
    restarts.elastic.emplace().range = {0, 0};
  }
  if (!restarts.elastic) return;
  ElasticOptions& elastic = *restarts.elastic;
  elastic.of_nodes = true;
  if (role_.nodes_come_again()) elastic.patience = role_.patience();
  elastic.questions.discover = [this](int) {
    room_->changed();
    return list();
  };
  elastic.questions.probe = [this](const std::vector<Host>& hosts, int) {
    const std::vector<bool> here = there();
    std::vector<bool> answers;
    for (const Host& host : hosts) {
      const std::size_t place = place_of(host.name);
      answers.push_back(place < most_ && here[place]);
    }
    return answers;
  };
  elastic.questions.news = room_->change_descriptor();
  elastic.questions.let_go = [this] { let_leavers_go(); };
}

int GatheredNodes::exit_status(const Outcome& outcome) {
  const auto is = [&](Exit status) { return outcome.exit_status == static_cast<int>(status); };
  const bool gone = outcome.cause == Cause::kNodeLost || outcome.cause == Cause::kAgentFailed ||
                    (outcome.cause == Cause::kCannotStart && outcome.node >= 0 &&
                     (is(Exit::kUnreachable) || is(Exit::kTryAgain)));
  if (gone) return 128 + SIGKILL;
  return outcome.cause == Cause::kHostsChanged ? 128 + SIGTERM : outcome.exit_status;
}

void GatheredNodes::tell(int status) {
  if (room_) room_->finish(status, kTellPatience);
}

}  // namespace dtl
