#pragma once
// TopView: the state of jobs and hosts at one moment, as `dtlaunch top` shows it. Plain values;
// top_model.h makes them, top_text.h and top_json.h show them.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/rank_watch.h"
#include "launcher/top/host_frame.h"
#include "wire/messages.h"

namespace dtl {

struct TopRank {
  int rank = -1;  // -1: unknown
  std::string host;
  std::int64_t pid = 0;
  std::optional<Activity> activity;   // nullopt: its host is lost
  std::optional<double> cpu_percent;  // of one core; nullopt: seen only once
  std::uint64_t memory_kib = 0, threads = 0;
  // Bytes per second; nullopt: seen only once, or it does not use libdtring.
  std::optional<double> sent_per_s;  // over TCP to other hosts
  std::optional<double> ring_per_s;  // sent and received by libdtring
  std::string program;
  std::string collective;   // that it waits in; empty: none
  std::int64_t number = 0;  // of that collective
  double waits_s = 0;       // since when it was first seen in it
  std::optional<TrainingProgress> progress;
  bool is_odd = false;  // others wait for it, or it is behind
};

struct TopTraining {
  std::uint64_t step = 0, total_steps = 0;  // 0: unknown
  std::uint64_t tokens = 0;                 // 0: unknown
  std::optional<double> loss, tokens_per_s, steps_per_s, left_s;
};

struct TopJob {
  std::string id;
  std::string state;      // of its launcher: "running"; empty: no watched host has it
  std::string command;    // the same
  int world = 0;          // ranks of the job, or those that the watched hosts will start
  bool is_whole = false;  // the launcher is watched, so world is the whole job's
  std::int64_t age_s = 0;
  std::vector<std::string> hosts;  // on which ranks run
  std::vector<TopRank> ranks;      // by number
  std::optional<TopTraining> training;
  std::optional<HangFinding> wait;  // who keeps others waiting
  std::vector<int> behind;          // ranks that are two steps or more behind the first one
};

enum class TopHostState { kConnecting, kWatched, kLost };

struct TopHost {
  std::string name;
  TopHostState state = TopHostState::kConnecting;
  std::string reason;                      // if lost
  std::optional<double> next_try_s;        // if lost; nullopt: never
  std::optional<double> load;              // of the last minute
  std::int64_t cores = 0, free_cores = 0;  // 0 of both: unknown
};

struct TopOwner {
  std::string user;
  std::int64_t cores = 0;
  std::vector<std::pair<std::string, std::int64_t>> jobs;  // ids, "?" if unknown, and cores
};

struct TopView {
  std::vector<TopJob> jobs;      // the oldest first
  std::vector<TopHost> hosts;    // in the order of the user's list
  std::vector<TopOwner> owners;  // of cores on these hosts, those with most first
};

// "ranks 0-2 wait in allreduce for rank 3 (node2, stopped), 4.1 s"; also a rank that is stopped, or
// behind. Empty if nobody keeps anybody waiting.
std::string top_wait_text(const TopJob& job);

const char* activity_word(std::optional<Activity> activity);  // "running"; "unknown" without one

}  // namespace dtl
