#include "tests/sim/reconnect_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/limits.h"

namespace dtl::sim {
namespace {

const std::string kToken(32, 't');

}  // namespace

ReconnectWorld::ReconnectWorld(std::uint64_t seed, const ReconnectRules& rules)
    : random_(seed), rules_(rules), patience_(draw(5, 60) * 1000), search_(patience_) {
  streams_.emplace_back();
  launcher_.end.keep();
  agent_.end.keep();
}

void ReconnectWorld::run() {
  const int steps = draw(40, 160);
  for (int step = 0; step < steps && complaints_.empty(); ++step) act();
  if (complaints_.empty()) heal();
}

void ReconnectWorld::check(bool holds, const std::string& promise) {
  if (!holds) complaints_ += fmt::format("{} ms: {}\n", now_.count(), promise);
}

void ReconnectWorld::tell(const std::string& what) {
  story_ += fmt::format("{} ms: {}\n", now_.count(), what);
}

std::deque<std::string>& ReconnectWorld::way_from(const Side& side) {
  Stream& one = stream(side.stream);
  return &side == &launcher_ ? one.to_agent : one.to_launcher;
}

std::deque<std::string>& ReconnectWorld::way_to(const Side& side) {
  Stream& one = stream(side.stream);
  return &side == &launcher_ ? one.to_launcher : one.to_agent;
}

void ReconnectWorld::act() {
  pass(JobTime(draw(0, 300)));
  switch (draw(0, 11)) {
    case 0:
    case 1:
      return send(launcher_);
    case 2:
    case 3:
      return send(agent_);
    case 4:
    case 5:
      return deliver(launcher_);
    case 6:
    case 7:
      return deliver(agent_);
    case 8:
      if (chance(40)) break_stream();
      return;
    case 9:
      if (chance(30)) {
        cut_ = !cut_;
        tell(cut_ ? "the network is cut" : "the network is back");
      }
      return;
    case 10:
      return deliver_old(false);
    default:
      if (chance(3)) {
        agent_.alive = false;
        tell("the agent is killed");
        break_stream();
      } else if (chance(5)) {
        pass(JobTime(draw(0, 15'000)));
      }
  }
}

// Events without a cause in the program.
void ReconnectWorld::pass(JobTime time) {
  now_ += time;
  if (agent_.alive && now_ > agent_.heard + JobTime(kLease) + patience_) {
    agent_.alive = false;
    tell("the agent's lease is over");
  }
  const bool silent = now_ - launcher_.heard > JobTime(kDead);
  if (launcher_.stream >= 0 && !lost_ && cut_ && silent) lose_stream();
  look();
}

void ReconnectWorld::put(Side& side, const Message& message) {
  Frame frame = encode_frame(message, 0);
  rules_.number(side.end, frame);
  if (!stream(side.stream).broken) way_from(side).push_back(frame.head);
}

void ReconnectWorld::send(Side& side) {
  if (!side.alive || lost_) return;
  const Message message = Heartbeat{++side.sent};
  if (side.stream < 0) return side.waiting.push_back(message);
  if (const auto receipt = rules_.receipt(side.end)) put(side, *receipt);
  put(side, message);
}

void ReconnectWorld::deliver(Side& side) {
  if (!side.alive || side.stream < 0 || cut_ || way_to(side).empty()) return;
  const std::string bytes = way_to(side).front();
  way_to(side).pop_front();
  side.heard = now_;
  try {
    side.reader.feed(bytes);
    const std::optional<Message> message = side.reader.next();
    rules_.took(side.end, bytes.size());
    if (const auto* payload = std::get_if<Heartbeat>(&*message)) {
      check(payload->monotonic_ms == ++side.got, "a frame is lost, or comes twice");
    } else if (const auto* receipt = std::get_if<Received>(&*message)) {
      check(rules_.acknowledge(side.end, receipt->frames), "a receipt for what was never sent");
    }
  } catch (const Error& error) {
    check(false, error.what());
  }
}

// Part of the data in transit still reaches an agent that has not noticed.
void ReconnectWorld::break_stream() {
  if (launcher_.stream < 0) return;
  Stream& one = stream(launcher_.stream);
  one.broken = true;
  one.to_launcher.clear();
  one.to_agent.resize(static_cast<std::size_t>(draw(0, static_cast<int>(one.to_agent.size()))));
  if (agent_.stream == launcher_.stream && chance(50)) agent_.stream = -1;
  tell("the stream breaks");
  lose_stream();
}

// Both ends notice by the end of the stream, or by silence.
void ReconnectWorld::lose_stream() {
  launcher_.stream = -1;
  if (!search_.searching()) lost_at_ = now_;
  rules_.begin(search_, now_);
}

void ReconnectWorld::give_up(bool gone) {
  check(gone ? !agent_.alive : now_ >= lost_at_ + patience_, "given up too early");
  search_.end();
  lost_ = true;
  tell("given up");
}

void ReconnectWorld::look() {
  for (std::size_t index = oldest(); index < streams_.size(); ++index) {
    Stream& one = streams_[index];
    if (!one.fails || now_ < *one.fails) continue;
    one.fails.reset();
    last_failure_ = now_;
    const auto verdict = rules_.tried(search_, one.attempt, std::nullopt, now_);
    check(verdict == LinkSearch::Verdict::kGoOn, "no answer is taken for one");
  }
  if (!search_.searching() || lost_) return;
  if (chance(10)) lose_stream();  // reported again
  if (rules_.is_over(search_, now_)) return give_up(false);
  check(now_ < lost_at_ + patience_, "the search is endless");
  const auto attempt = rules_.next_try(search_, now_);
  if (!attempt) return;
  check(now_ - last_failure_ >= JobTime(kFirstRejoinPause) || last_failure_ < lost_at_,
        "a storm of tries");
  check(attempt->until <= lost_at_ + patience_, "an offer may be made after the time");
  check(attempt->attempt > last_attempt_, "an offer without a number of its own");
  last_attempt_ = attempt->attempt;
  Stream& one = streams_.emplace_back();
  one.attempt = attempt->attempt;
  one.fails = attempt->until;
  if (!cut_) one.offer = rules_.offer(launcher_.end, kToken, attempt->attempt);
  if (cut_) one.fails = std::min(now_ + JobTime(kConnectDeadline), attempt->until);
}

bool ReconnectWorld::adopt(Side& side, int index, std::uint64_t other_has) {
  const auto lacking = rules_.resume(side.end, other_has);
  if (!lacking) return false;
  side.stream = index;
  side.heard = now_;
  side.reader = FrameReader(static_cast<std::uint32_t>(side.end.received()));
  for (const Frame& frame : *lacking) way_from(side).push_back(frame.head);
  for (; !side.waiting.empty(); side.waiting.pop_front()) put(side, side.waiting.front());
  return true;
}

void ReconnectWorld::deliver_offer(Stream& one, int index) {
  const Resume offer = *one.offer;
  if (!chance(10)) one.offer.reset();  // else it arrives again
  Resumed answer{ResumeAnswer::kGone, offer.attempt, 0};
  if (agent_.alive && chance(10)) {
    Resume other = offer;
    other.token = std::string(32, 'o');
    other.attempt += 7;
    refused_ = true;
    check(rules_.admit(agent_.end, other, kToken) == ResumeAnswer::kRefused,
          "another job's launcher is let in");
  }
  if (agent_.alive) {
    const bool is_old = agent_.stream >= 0 && stream(agent_.stream).attempt >= offer.attempt;
    answer.answer = rules_.admit(agent_.end, offer, kToken);
    check(!is_old || answer.answer == ResumeAnswer::kRefused, "an old offer is accepted");
    if (is_old) return;
    answer.received = agent_.end.received();
    if (answer.answer == ResumeAnswer::kResumed && !adopt(agent_, index, offer.received)) {
      answer.answer = ResumeAnswer::kRefused;
    }
  }
  one.answer = answer;
}

void ReconnectWorld::deliver_answer(Stream& one, int index) {
  const Resumed answer = *one.answer;
  one.answer.reset();
  one.fails.reset();
  const bool searching = search_.searching();
  const bool counts = rules_.counts(launcher_.end, search_, answer, one.attempt);
  check(!counts || (searching && one.attempt == last_attempt_), "an old answer counts");
  const bool current = searching && search_.awaits(one.attempt);
  if (counts && !adopt(launcher_, index, answer.received)) {
    return check(false, "what the other end lacks is not kept");
  }
  const auto verdict = rules_.tried(search_, one.attempt, answer.answer, now_);
  const bool found = verdict == LinkSearch::Verdict::kFound;
  check(counts == found, "found, and not gone on with, or the other way round");
  if (found) {
    ++found_;
    tell(fmt::format("found again by try {}", one.attempt));
  }
  if (verdict == LinkSearch::Verdict::kGone) {
    check(!agent_.alive, "an agent that lives is given up");
    give_up(true);
  } else if (current && answer.answer == ResumeAnswer::kGone) {
    check(false, "an agent that is gone is looked for on");
  }
}

// Delivers offers and answers, including old ones: any of them, or all.
void ReconnectWorld::deliver_old(bool all) {
  if (cut_ || lost_) return;
  for (std::size_t index = oldest(); index < streams_.size() && complaints_.empty(); ++index) {
    if (streams_[index].offer && (all || chance(60))) {
      deliver_offer(streams_[index], static_cast<int>(index));
    }
    if (streams_[index].answer && !lost_ && (all || chance(60))) {
      deliver_answer(streams_[index], static_cast<int>(index));
    }
  }
}

// The network works from here on.
void ReconnectWorld::heal() {
  cut_ = false;
  tell("no more faults");
  const JobTime time = JobTime(kLongestRejoinPause) + 2 * JobTime(kConnectDeadline) + 2s;
  const bool must_be_found = !lost_ && agent_.alive && now_ + time < lost_at_ + patience_ &&
                             now_ + time < agent_.heard + JobTime(kLease) + patience_;
  const JobTime until = now_ + JobTime(kRejoinDeadline) + time;
  int well = 0;
  for (int step = 0; now_ < until && complaints_.empty(); ++step) {
    if (launcher_.stream >= 0 && launcher_.stream == agent_.stream) ++well;
    if (lost_ || well > 15) break;
    pass(200ms);
    deliver_old(true);
    for (int i = 0; i < 3; ++i) {
      deliver(launcher_);
      deliver(agent_);
    }
    if (launcher_.stream >= 0 && step % 5 == 0) {
      send(launcher_);
      send(agent_);
    }
  }
  if (complaints_.empty()) check_end(must_be_found);
}

void ReconnectWorld::check_end(bool must_be_found) {
  check(!must_be_found || (!lost_ && !search_.searching()), "not found, though it lives");
  if (lost_ || search_.searching() || !agent_.alive || launcher_.stream < 0) return;
  for (Side* side : {&launcher_, &agent_}) {
    while (side->stream >= 0 && !way_to(*side).empty() && complaints_.empty()) deliver(*side);
  }
  if (!complaints_.empty()) return;
  check(launcher_.got == agent_.sent && agent_.got == launcher_.sent, "frames never came");
  for (Side* side : {&launcher_, &agent_}) {
    const Side& other = side == &launcher_ ? agent_ : launcher_;
    const auto receipt = rules_.receipt(side->end);
    const std::uint64_t kept = side->end.resume(0).has_value();
    check(kept == 0 || other.got == 0, "what has come is kept for ever");
    check(!receipt || receipt->frames == side->end.received(), "a wrong receipt");
  }
}

}  // namespace dtl::sim
