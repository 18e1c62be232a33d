// The conversations of dtlaunch and the agents, over branches, and what is promised of them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "tests/sim/tree_world.h"

namespace dtl::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFloodBytes = 32 << 10;  // of a frame

std::string bytes_of(const Frame& frame) {
  return frame.head + frame.tail;
}

}  // namespace

void TreeWorld::end_branch(End& end) {
  end.resumed = false;
  end.out.clear();
  end.reader = FrameReader();
}

// Kept by the link; what is not sent now goes when the conversation continues.
void TreeWorld::say(End& end, std::size_t bytes) {
  if (end.link.is_full()) return;
  ++end.sent;
  Frame frame = bytes == 0 ? encode_frame(Heartbeat{end.sent}, 0)
                           : encode_frame(Output{static_cast<std::uint32_t>(end.sent),
                                                 Stream::kStdout, std::string(bytes, 'x')},
                                          0);
  end.link.number(frame);
  if (end.resumed) end.out.push_back(bytes_of(frame));
}

void TreeWorld::say_receipt(End& end, bool always) {
  const auto receipt = end.resumed ? end.link.receipt(always) : std::nullopt;
  if (!receipt) return;
  Frame frame = encode_frame(*receipt, 0);
  end.link.number(frame);
  end.out.push_back(bytes_of(frame));
}

void TreeWorld::talk(std::size_t node) {
  Agent& agent = agents_[node];
  if (agent.dead) return;
  const bool is_last = faults_left_ == 0 && now_ + 2s > ends_at_;
  if (runs(node) && !is_last) {
    const bool floods = shape_.floods && node + 1 == agents_.size();
    for (int i = 0; i < (floods ? 40 : 1); ++i) say(agent.end, floods ? kFloodBytes : 0);
  }
  if (!is_last) say(agent.far, 0);
  if (runs(node)) say_receipt(agent.end, true);
  say_receipt(agent.far, true);
  flush_far(node);
  act(node);
  later(shape_.frame_every, What::kFrame, node);
}

void TreeWorld::read_frames(End& end, const std::string& who) {
  for (;;) {
    const std::uint64_t before = end.reader.bytes_taken();
    const std::optional<Message> message = end.reader.next();
    if (!message) return;
    end.link.took(end.reader.bytes_taken() - before);
    if (const auto* receipt = std::get_if<Received>(&*message)) {
      check(end.link.acknowledge(receipt->frames), who + " gets a receipt for what it never sent");
      continue;
    }
    const auto* output = std::get_if<Output>(&*message);
    const auto* beat = std::get_if<Heartbeat>(&*message);
    const std::uint64_t number = output != nullptr ? output->rank : beat->monotonic_ms;
    check(number == ++end.got, who + ": a frame is lost, or comes twice");
    say_receipt(end, false);
  }
}

void TreeWorld::flush_near(std::size_t node) {
  Agent& agent = agents_[node];
  End& end = agent.end;
  while (!end.out.empty() && agent.relay->owns(agent.branch) && !rules_.is_up_full(*agent.relay)) {
    agent.relay->send(agent.branch, std::move(end.out.front()));
    end.out.pop_front();
  }
}

void TreeWorld::feed_near(std::size_t node, const std::string& bytes) {
  End& end = agents_[node].end;
  end.reader.feed(bytes);
  if (!end.resumed) {
    const auto message = end.reader.next();
    if (!message) return;
    const auto* offer = std::get_if<Resume>(&*message);
    check(offer != nullptr, "a branch begins with another message");
    if (offer == nullptr) return;
    check(end.link.admit(*offer, "token") == ResumeAnswer::kResumed, "an offer is old");
    std::string rest = end.reader.take_rest();
    const auto lacking = end.link.resume(offer->received);
    check(lacking.has_value(), "dtlaunch lacks frames that are not kept");
    if (!lacking) return;
    end.out.push_back(bytes_of(
        encode_frame(Resumed{ResumeAnswer::kResumed, offer->attempt, end.link.received()}, 0)));
    for (const Frame& frame : *lacking) end.out.push_back(bytes_of(frame));
    end.reader = FrameReader(static_cast<std::uint32_t>(end.link.received()));
    end.reader.feed(std::move(rest));
    end.resumed = true;
  }
  read_frames(end, fmt::format("agent {}", node));
}

// ---- dtlaunch

void TreeWorld::lose_top(std::size_t top) {
  for (Agent& agent : agents_) {
    if (agent.top == top) end_branch(agent.far);
  }
}

void TreeWorld::from_top(std::size_t top, Parcel parcel) {
  ++parcels_at_top_;
  if (parcel.kind == ParcelKind::kAlive) {
    for (const std::uint32_t node : decode_nodes(parcel.bytes, Relay::kMostNodes)) {
      agents_.at(node).sign = now_;
    }
    return;
  }
  Agent& agent = agents_.at(parcel.node);
  if (parcel.kind == ParcelKind::kArrived && parcel.stream > agent.stream) {
    agent.stream = parcel.stream;
    agent.top = top;
    end_branch(agent.far);
    agent.far.out.push_back(
        bytes_of(encode_frame(agent.far.link.offer("token", ++agent.attempt), 0)));
    flush_far(parcel.node);
  } else if (parcel.stream == agent.stream && agent.top == top) {
    if (parcel.kind == ParcelKind::kLeft) end_branch(agent.far);
    if (parcel.kind == ParcelKind::kBytes) feed_far(parcel.node, parcel.bytes);
  }
}

void TreeWorld::feed_far(std::size_t node, const std::string& bytes) {
  Agent& agent = agents_[node];
  End& end = agent.far;
  end.reader.feed(bytes);
  if (!end.resumed) {
    const auto message = end.reader.next();
    if (!message) return;
    const auto* answer = std::get_if<Resumed>(&*message);
    check(answer != nullptr && end.link.is_answer(*answer), "an answer to another offer");
    if (answer == nullptr) return;
    std::string rest = end.reader.take_rest();
    const auto lacking = end.link.resume(answer->received);
    check(lacking.has_value(), "an agent lacks frames that are not kept");
    if (!lacking) return;
    for (const Frame& frame : *lacking) end.out.push_back(bytes_of(frame));
    end.reader = FrameReader(static_cast<std::uint32_t>(end.link.received()));
    end.reader.feed(std::move(rest));
    end.resumed = true;
    agent.sign = now_;
    resumed_ += agent.attempt > 1 ? 1 : 0;
  }
  read_frames(end, "dtlaunch");
  flush_far(node);
}

void TreeWorld::flush_far(std::size_t node) {
  Agent& agent = agents_[node];
  const auto& uplink = agents_[agent.top].uplink;
  while (!agent.far.out.empty()) {
    std::string bytes;
    encode_parcel({ParcelKind::kBytes, static_cast<std::uint32_t>(node), agent.stream,
                   std::move(agent.far.out.front())},
                  bytes);
    agent.far.out.pop_front();
    if (uplink) put(*uplink, false, std::move(bytes));
  }
}

void TreeWorld::pulse() {
  std::string bytes;
  encode_parcel({}, bytes);
  for (const Agent& agent : agents_) {
    if (agent.parents.empty() && agent.uplink) put(*agent.uplink, false, bytes);
  }
  check_all();
  later(1s, What::kPulse);
}

// ---- promises

bool TreeWorld::reaches(std::size_t node) const {
  if (!runs(node)) return false;
  const Agent& agent = agents_[node];
  return agent.parents.empty() ||
         std::any_of(agent.parents.begin(), agent.parents.end(),
                     [&](std::size_t parent) { return !is_cut(node, parent) && reaches(parent); });
}

void TreeWorld::check_all() {
  while (!faults_.empty() && faults_.front() + 12s < now_) faults_.pop_front();
  const RelayTime last_fault = faults_.empty() ? now_ - 12s : faults_.back();
  if (now_ < RelayTime(kLease)) return;
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    Agent& agent = agents_[i];
    if (!reaches(i)) {
      agent.cut_off_at = now_;
      continue;
    }
    const bool was_cut_off = std::max(agent.fault_at, agent.cut_off_at) + 12s > now_;
    if (faults_.size() <= 1 && !was_cut_off) {
      check(now_ - agent.sign <= RelayTime(kDead), fmt::format("{} is taken for dead", i));
    }
    if (now_ >= last_fault + RelayTime(kLease) && !agent.parents.empty() &&
        shape_.frame_every > 0ms) {
      check(agent.far.resumed && agent.end.resumed, fmt::format("{} is an orphan", i));
    }
  }
}

void TreeWorld::check_end() {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const Agent& agent = agents_[i];
    if (!reaches(i) || agent.parents.empty()) continue;
    check(agent.end.got == agent.far.sent, fmt::format("{} lacks frames at the end", i));
    check(agent.far.got == agent.end.sent, fmt::format("dtlaunch lacks frames of {}", i));
  }
}

}  // namespace dtl::sim
