// Names that the report has too mean the same there.
#include "launcher/report/plan_json.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "launcher/screen/json_answer.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

using PlanJson = nlohmann::ordered_json;

PlanJson program_members(const RankPlan& first, int ranks) {
  PlanJson program = {{"program", first.program},
                      {"first_rank", first.rank},
                      {"ranks", ranks},
                      {"command", masked_arguments(first.arguments, first.environment)},
                      {"working_directory", first.working_directory},
                      {"umask", fmt::format("{:04o}", first.umask)}};
  // Where the values come from; the report has the values.
  program["variables"] = PlanJson::object();
  for (const auto& [name, origin] : first.origins) program["variables"][name] = origin_name(origin);
  return program;
}

// All ranks of a program have the same command, so the first one is shown.
PlanJson programs_of(const JobPlan& plan) {
  std::map<int, std::pair<const RankPlan*, int>> programs;
  for (const NodePlan& node : plan.nodes) {
    for (const RankPlan& rank : node.ranks) {
      auto& [first, ranks] = programs[rank.program];
      if (first == nullptr || rank.rank < first->rank) first = &rank;
      ++ranks;
    }
  }
  PlanJson json = PlanJson::array();
  for (const auto& [index, program] : programs) {
    json.push_back(program_members(*program.first, program.second));
  }
  return json;
}

PlanJson rank_members(const RankPlan& rank) {
  return {{"rank", rank.rank},
          {"local_rank", rank.local_rank},
          {"program", rank.program},
          {"threads", rank.threads},
          {"cpus", rank.cpus.empty() ? PlanJson() : PlanJson(rank.cpus.to_list())},
          {"comm_cpus", rank.comm.empty() ? PlanJson() : PlanJson(CpuSet(rank.comm).to_list())},
          {"numa", rank.numa}};
}

PlanJson node_members(const NodePlan& node) {
  const NodeHardware& hardware = node.hardware;
  PlanJson json = {
      {"host", node.host_name},
      {"address", node.address.empty() ? PlanJson() : PlanJson(node.address)},
      {"interface", node.interface.empty() ? PlanJson() : PlanJson(node.interface)},
      {"interface_numa", node.interface_numa < 0 ? PlanJson() : PlanJson(node.interface_numa)},
      {"cores", hardware.cores},
      {"cpus", hardware.cpus},
      {"sockets", hardware.sockets},
      {"numa_nodes", hardware.numa_nodes},
      {"memory_bytes", hardware.memory_bytes}};
  json["ranks"] = PlanJson::array();
  for (const RankPlan& rank : node.ranks) json["ranks"].push_back(rank_members(rank));
  return json;
}

}  // namespace

std::string plan_answer(const JobPlan& plan, int /*columns*/) {
  PlanJson json;
  json["job"] = plan.job_id;
  json["world_size"] = plan.world_size;
  json["master_address"] = plan.master_address.empty() ? PlanJson() : PlanJson(plan.master_address);
  json["master_port"] = plan.master_port > 0 ? PlanJson(plan.master_port) : PlanJson();
  json["programs"] = programs_of(plan);
  json["nodes"] = PlanJson::array();
  for (const NodePlan& node : plan.nodes) json["nodes"].push_back(node_members(node));
  json["warnings"] = plan.warnings;
  // Arguments of programs need not be UTF-8.
  return json_answer("plan", json.dump(-1, ' ', false, PlanJson::error_handler_t::replace));
}

}  // namespace dtl
