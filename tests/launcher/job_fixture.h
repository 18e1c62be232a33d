#pragma once
// JobTest: shared by the tests of the job's state machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/job.h"

namespace dtl {

// What goes to the node, in order.
template <typename M>
std::vector<M> sent_to(const std::vector<job::Effect>& effects, int node) {
  std::vector<M> messages;
  const auto add = [&](const Message& message) {
    if (const auto* found = std::get_if<M>(&message)) messages.push_back(*found);
  };
  for (const job::Effect& effect : effects) {
    const auto* send = std::get_if<job::Send>(&effect);
    if (send != nullptr && send->node == node) add(send->message);
    const auto* many = std::get_if<job::SendToMany>(&effect);
    const bool among = many != nullptr && std::count(many->nodes.begin(), many->nodes.end(), node);
    if (among) add(many->message);
  }
  return messages;
}

// A job on two nodes with two ranks each, driven by hand.
class JobTest : public testing::Test {
 protected:
  std::vector<job::Effect> feed(const job::Event& event) { return step(job_, event, now_); }
  template <typename M>
  std::vector<job::Effect> hear(int node, M message) {
    return feed(job::FromAgent{node, std::move(message)});
  }

  // Ticks as a driver would until `span` has passed; live nodes send heartbeats.
  std::vector<job::Effect> pass(JobTime span, std::vector<int> live = {0, 1}) {
    std::vector<job::Effect> all;
    const JobTime end = now_ + span;
    while (now_ < end) {
      now_ = std::min(end, std::max(now_ + 1ms, next_wakeup(job_)));
      for (const int node : live) append(all, hear(node, Heartbeat{}));
      append(all, feed(job::Tick{}));
    }
    return all;
  }

  void start_agents() {
    feed(job::AgentReady{0});
    feed(job::AgentReady{1});
  }
  void plan_without_claims() {
    start_agents();
    feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
    Listening listening;
    listening.probe_port = 7;
    listening.addresses = {"10.0.0.1"};
    hear(0, listening);
    hear(1, listening);
    hear(0, Reached{});
    hear(1, Reached{});
    feed(job::Judged{false});
    feed(job::Planned{});
  }
  void plan() {
    plan_without_claims();
    hear(0, CoresClaimed{});
    hear(1, CoresClaimed{});
  }
  void run() {
    plan();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      hear(static_cast<int>(rank / 2), Started{rank, 100 + rank});
    }
  }
  std::vector<job::Effect> exit_rank(std::uint32_t rank, std::uint32_t code,
                                     std::uint32_t signal = 0, LastWords words = LastWords::kOwn) {
    Exited exited;
    exited.rank = rank;
    exited.code = code;
    exited.signal = signal;
    return feed(job::FromAgent{static_cast<int>(rank / 2), exited, words});
  }

  static void append(std::vector<job::Effect>& all, std::vector<job::Effect> more) {
    for (auto& effect : more) all.push_back(std::move(effect));
  }
  template <typename M>
  static std::vector<int> sent(const std::vector<job::Effect>& effects) {
    std::vector<int> nodes;
    for (const auto& effect : effects) {
      const auto* send = std::get_if<job::Send>(&effect);
      if (send != nullptr && std::holds_alternative<M>(send->message)) nodes.push_back(send->node);
    }
    return nodes;
  }
  template <typename E>
  static int count(const std::vector<job::Effect>& effects) {
    int found = 0;
    for (const auto& effect : effects) found += std::holds_alternative<E>(effect) ? 1 : 0;
    return found;
  }
  static std::string notices(const std::vector<job::Effect>& effects) {
    std::string text;
    for (const auto& effect : effects) {
      if (const auto* notice = std::get_if<job::Notice>(&effect)) text += notice->text + "\n";
    }
    return text;
  }

  Job job_ = make_job(2, {});
  JobTime now_{0};
};

}  // namespace dtl
