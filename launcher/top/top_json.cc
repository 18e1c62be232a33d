#include "launcher/top/top_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace dtl {
namespace {

using Json = nlohmann::ordered_json;

// Rounded: nobody measures more digits.
Json rounded(const std::optional<double>& value, double digits) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return std::round(*value * digits) / digits;
}

Json count_or_null(std::uint64_t value) {
  return value == 0 ? Json(nullptr) : Json(value);
}

Json json_of(const TopRank& rank) {
  Json json;
  json["rank"] = rank.rank < 0 ? Json(nullptr) : Json(rank.rank);
  json["host"] = rank.host;
  json["pid"] = rank.pid;
  json["program"] = rank.program;
  json["state"] = rank.activity ? Json(activity_word(rank.activity)) : Json(nullptr);
  json["cpu_percent"] = rounded(rank.cpu_percent, 10);
  json["memory_kib"] = rank.memory_kib;
  json["threads"] = rank.threads;
  json["ring_bytes_per_s"] = rounded(rank.ring_per_s, 1);
  json["tcp_bytes_per_s"] = rounded(rank.sent_per_s, 1);
  json["step"] = rank.progress ? Json(rank.progress->step) : Json(nullptr);
  json["waits_in"] = nullptr;
  if (!rank.collective.empty()) {
    json["waits_in"] = {{"collective", rank.collective},
                        {"number", rank.number},
                        {"waits_s", rounded(rank.waits_s, 10)}};
  }
  json["straggler"] = rank.is_odd;
  return json;
}

Json json_of(const std::optional<TopTraining>& training) {
  if (!training) return nullptr;
  return {{"step", training->step},
          {"total_steps", count_or_null(training->total_steps)},
          {"loss", training->loss ? Json(*training->loss) : Json(nullptr)},
          {"tokens", count_or_null(training->tokens)},
          {"tokens_per_s", rounded(training->tokens_per_s, 10)},
          {"steps_per_s", rounded(training->steps_per_s, 1000)},
          {"left_s", rounded(training->left_s, 1)}};
}

Json json_of_wait(const TopJob& job) {
  const std::string text = top_wait_text(job);
  if (text.empty()) return nullptr;
  Json wait;
  const bool waits = job.wait.has_value();
  wait["for_ranks"] = waits ? job.wait->odd : job.behind;
  wait["ranks"] = waits ? job.wait->waiting : std::vector<int>();
  wait["collective"] =
      waits && !job.wait->collective.empty() ? Json(job.wait->collective) : Json(nullptr);
  wait["lasted_s"] = nullptr;
  if (waits) wait["lasted_s"] = static_cast<double>(job.wait->lasted.count()) / 1000;
  wait["text"] = text;
  return wait;
}

Json json_of(const TopJob& job) {
  Json json;
  json["job"] = job.id;
  json["state"] = job.state.empty() ? Json(nullptr) : Json(job.state);
  json["complete"] = job.is_whole;
  json["world_size"] = job.world;
  json["age_s"] = job.age_s;
  json["hosts"] = job.hosts;
  json["command"] = job.command.empty() ? Json(nullptr) : Json(job.command);
  json["training"] = json_of(job.training);
  json["wait"] = json_of_wait(job);
  json["ranks"] = Json::array();
  for (const TopRank& rank : job.ranks) json["ranks"].push_back(json_of(rank));
  return json;
}

Json json_of(const TopHost& host) {
  constexpr const char* kStates[] = {"connecting", "watched", "lost"};
  const bool knows_cores = host.cores > 0;
  return {{"host", host.name},
          {"state", kStates[static_cast<int>(host.state)]},
          {"load", rounded(host.load, 100)},
          {"cores", knows_cores ? Json(host.cores) : Json(nullptr)},
          {"free_cores", knows_cores ? Json(host.free_cores) : Json(nullptr)}};
}

Json json_of(const TopOwner& owner) {
  Json json = {{"user", owner.user == "?" ? Json(nullptr) : Json(owner.user)},
               {"cores", owner.cores},
               {"jobs", Json::array()}};
  for (const auto& [job, cores] : owner.jobs) {
    json["jobs"].push_back({{"job", job == "?" ? Json(nullptr) : Json(job)}, {"cores", cores}});
  }
  return json;
}

}  // namespace

std::string top_json(const TopView& view, const std::string& time,
                     const std::vector<Unreachable>& unreachable) {
  Json members;
  members["time"] = time;
  for (const char* name : {"hosts", "owners", "jobs"}) members[name] = Json::array();
  for (const TopHost& host : view.hosts) members["hosts"].push_back(json_of(host));
  for (const TopOwner& owner : view.owners) members["owners"].push_back(json_of(owner));
  for (const TopJob& job : view.jobs) members["jobs"].push_back(json_of(job));
  return json_answer("top", members.dump(-1, ' ', false, Json::error_handler_t::replace),
                     unreachable);
}

std::string top_json_line(const TopView& view, const std::string& time,
                          const std::vector<Unreachable>& unreachable) {
  return Json::parse(top_json(view, time, unreachable)).dump() + "\n";
}

}  // namespace dtl
