// All hosts take each step together, in one task per host. Hosts that fail drop out, and the next
// step begins when the slowest has answered or its deadline has passed. Every question has a
// deadline, so the whole run has one.
#include "launcher/doctor/doctor_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "launcher/agents/agent_link.h"
#include "wire/deadline.h"
#include "wire/task_group.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kStartPatience = 9500ms;  // as a job's
constexpr int kClockQuestions = 3;               // the quickest answer counts
// Many packets of any MTU, jumbo frames included, so that one of full size is among them.
constexpr std::uint32_t kLargeBytes = 256 << 10;

// One host's examination in progress. `seen` belongs to the Round.
struct Patient {
  Host host;
  Examination& seen;
  AgentLink link = {};
  bool up() const { return link.connection && !seen.failure; }
};

class Round {
 public:
  explicit Round(const ExaminationRequest& request)
      : request_(request), seen_(request.hosts.size()), tasks_(context_), clock_(context_) {
    for (std::size_t i = 0; i < request.hosts.size(); ++i) {
      seen_[i].name = request.hosts[i].name;
      seen_[i].own = InterfaceFilter(request.hosts[i].interface);
      // seen_ has its full size already, so references into it stay valid.
      patients_.push_back({request.hosts[i], seen_[i]});
    }
  }

  std::vector<Examination> run() {
    std::exception_ptr fault;
    // guarded() catches errors of the world. Anything else is a bug in dtlaunch.
    tasks_.on_failure([&](std::exception_ptr failure) {
      fault = std::move(failure);
      context_.stop();
    });
    tasks_.spawn(examine_all());
    tasks_.spawn(keep_alive());
    context_.run();
    if (fault) std::rethrow_exception(fault);
    return std::move(seen_);
  }

 private:
  using Step = awaitable<void> (Round::*)(Patient&);

  awaitable<void> examine_all() {
    co_await each(&Round::bring_up, false);
    co_await each(&Round::ask_clock, true);
    co_await each(&Round::ask_everything, true);
    co_await each(&Round::listen, true);
    co_await probe(1);
    // As a job does it: the second round waits longer, and is needed only if the first found no
    // network.
    if (may_prove_more_now()) co_await probe(2);
    co_await probe_large();
    // The agents end by Finish. One whose connection is just closed would take that for a lost
    // launcher.
    co_await each(&Round::finish, true);
    // Lets keep_alive() end, so that run() returns.
    done_ = true;
    clock_.cancel();
    for (Patient& patient : patients_) {
      if (patient.link.connection) patient.link.connection->close();
    }
  }

  // One step of all hosts at once. Returns when the last host has finished it.
  awaitable<void> each(Step step, bool only_up) {
    TaskGroup group(context_);
    for (Patient& patient : patients_) {
      if (!only_up || patient.up()) group.spawn(guarded(step, patient));
    }
    co_await group.join();
  }

  awaitable<void> guarded(Step step, Patient& patient) {
    try {
      co_await (this->*step)(patient);
    } catch (const Error& error) {
      // Closing makes up() false and ends the connection's writer.
      patient.seen.failure = error;
      if (patient.link.connection) patient.link.connection->close();
    }
  }

  awaitable<void> bring_up(Patient& patient) {
    const auto deadline = Clock::now() + kStartPatience;
    auto stream = co_await request_.start_agent(context_, patient.host);
    Welcome welcome;
    welcome.launcher_version = DTL_VERSION;
    welcome.job_id = request_.job_id;
    welcome.host_name = patient.host.name;
    patient.link = co_await greet_agent(context_, tasks_, patient.host, std::move(stream),
                                        std::move(welcome), deadline);
    patient.seen.facts = patient.link.facts;
    patient.seen.noise = patient.link.noise;
  }

  // Sends a message and waits for its answer. Ignores other messages, such as heartbeats. Closes
  // the connection at the deadline: a later answer could be taken for that of the next question.
  template <typename Answer>
  awaitable<Answer> ask(Patient& patient, Message question, Milliseconds patience) {
    const auto connection = patient.link.connection;
    const Deadline deadline(context_, std::chrono::steady_clock::now() + patience,
                            [connection] { connection->close(); });
    connection->send(question);
    for (;;) {
      const std::optional<Message> message = co_await connection->receive();
      if (!message) break;
      if (const auto* answer = std::get_if<Answer>(&*message)) co_return *answer;
    }
    throw Error(Exit::kOs, fmt::format("{}: lost while it was examined", patient.host.name),
                fmt::format("no {} from dtagent: {}", message_name(Message(Answer{})),
                            describe_ending(*patient.link.stream)));
  }

  awaitable<void> ask_clock(Patient& patient) {
    using std::chrono::duration;
    for (int i = 0; i < kClockQuestions; ++i) {
      Examine question;
      // Answered at once. "all" makes the agent run commands, which would add to the round trip.
      question.parameters.push_back({"what", "clock"});
      const auto sent = std::chrono::system_clock::now();
      const auto began = Clock::now();
      const Examined answer = co_await ask<Examined>(patient, question, kExamineDeadline);
      const double trip = duration<double>(Clock::now() - began).count();
      // The quickest of the answers counts, since half of its round trip bounds the error.
      if (patient.seen.clock_ahead_s && trip / 2 >= patient.seen.clock_uncertain_s) continue;
      for (const Fact& fact : answer.facts) {
        if (fact.name != "clock.realtime_us") continue;
        // The answer was made about half a round trip after the question left.
        const double ours = duration<double>(sent.time_since_epoch()).count() + trip / 2;
        patient.seen.clock_ahead_s = std::strtod(fact.value.c_str(), nullptr) / 1e6 - ours;
        patient.seen.clock_uncertain_s = trip / 2;
      }
    }
  }

  awaitable<void> ask_everything(Patient& patient) {
    Examine question;
    question.parameters = request_.parameters;
    question.parameters.push_back({"what", "all"});
    const Examined answer = co_await ask<Examined>(patient, question, kExamineDeadline);
    for (const Fact& fact : answer.facts) patient.seen.more[fact.name] = fact.value;
  }

  awaitable<void> listen(Patient& patient) {
    Listen message;
    // Its index among the hosts: the answering host repeats it, which reveals a wrong host.
    message.node = static_cast<std::uint32_t>(&patient - patients_.data());
    patient.seen.listening = co_await ask<Listening>(patient, message, kAnswerMargin);
  }

  bool may_prove_more_now() const {
    const auto nodes = probed_nodes(seen_);
    try {
      return nodes.size() > 1 && !choose_network(nodes, request_.interfaces) &&
             may_prove_more(nodes, request_.interfaces);
    } catch (const Error&) {
      return false;  // the finding says it
    }
  }

  awaitable<void> probe(int round) {
    std::vector<Reach> probes;
    try {
      const auto nodes = probed_nodes(seen_);
      if (nodes.size() > 1) probes = plan_probes(nodes, request_.interfaces, round);
    } catch (const Error&) {
      co_return;  // the finding says it
    }
    co_await reach(std::move(probes), false);
  }

  // Many bytes on the chosen network: more than fits into one packet. Where a switch drops large
  // packets and ICMP is filtered, path MTU discovery fails, and only such a transfer shows it.
  awaitable<void> probe_large() {
    const auto nodes = probed_nodes(seen_);
    if (nodes.size() < 2) co_return;
    const auto choice = choose_network(nodes, request_.interfaces);
    if (!choice) co_return;
    std::vector<Reach> probes(nodes.size());
    for (std::size_t from = 0; from < nodes.size(); ++from) {
      probes[from].payload_bytes = kLargeBytes;
      for (const std::size_t to : probe_targets(from, nodes.size())) {
        probes[from].endpoints.push_back({choice->network.nodes[to].address,
                                          nodes[to].listening.probe_port,
                                          static_cast<std::uint32_t>(to)});
      }
    }
    co_await reach(std::move(probes), true);
  }

  // Runs the probes of all hosts that are up. The probes number these hosts; agents know their
  // indexes among all hosts, so the numbers are converted here.
  awaitable<void> reach(std::vector<Reach> probes, bool large) {
    std::vector<std::size_t> up;
    for (std::size_t i = 0; i < patients_.size(); ++i) {
      if (patients_[i].up()) up.push_back(i);
    }
    TaskGroup group(context_);
    for (std::size_t k = 0; k < probes.size(); ++k) {
      for (Endpoint& endpoint : probes[k].endpoints) {
        endpoint.node = static_cast<std::uint32_t>(up[endpoint.node]);
      }
      group.spawn(reach_from(patients_[up[k]], probes[k], large));
    }
    co_await group.join();
  }

  awaitable<void> reach_from(Patient& patient, Reach message, bool large) {
    try {
      const Reached reached =
          // kConnectDeadline is the agent's own limit for one connection; the margin is for its way
          // back.
          co_await ask<Reached>(patient, message, kConnectDeadline + kAnswerMargin);
      (large ? patient.seen.large_attempts : patient.seen.attempts) = reached.attempts;
    } catch (const Error& error) {
      patient.seen.failure = error;
    }
  }

  awaitable<void> finish(Patient& patient) {
    co_await ask<Finished>(patient, Finish{}, kAnswerMargin);
  }

  // An agent whose launcher is silent for kLease ends itself, and an examination may take longer.
  awaitable<void> keep_alive() {
    while (!done_) {
      for (Patient& patient : patients_) {
        if (patient.up()) patient.link.connection->send(Heartbeat{});
      }
      clock_.expires_after(kHeartbeat);
      boost::system::error_code woken;
      co_await clock_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }

  const ExaminationRequest& request_;
  std::vector<Examination> seen_;
  asio::io_context context_;  // before everything that uses it
  std::vector<Patient> patients_;
  TaskGroup tasks_;
  asio::steady_timer clock_;
  bool done_ = false;
};

}  // namespace

std::vector<Examination> examine_hosts(const ExaminationRequest& request) {
  Round round(request);
  return round.run();
}

}  // namespace dtl
