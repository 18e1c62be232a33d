#include "ring/api/agreement.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

namespace dtl::ring {
namespace {

const char* name_of_wire(std::uint32_t wire) {  // a dt_wire
  if (wire == DT_WIRE_BF16) return "bf16";
  return wire == DT_WIRE_F16 ? "f16" : "exact";
}

// Escapes text for JSON. Drops control characters: the text is a message of this library that
// contains hostnames.
std::string escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) escaped += c;
  }
  return escaped;
}

// Of the links between nodes, or within the only one.
LinkCosts used_costs(const Agreement& agreement) {
  LinkCosts costs = agreement.terms.costs;
  if (agreement.terms.nodes == 1) {
    costs.latency = costs.local_latency;
    costs.byte = costs.local_byte;
  }
  return costs;
}

}  // namespace

Agreement agree_alone(int rank, int world) {
  Agreement alone;
  alone.terms.world = world;
  alone.map = NodeMap::from_keys(rank, std::vector<std::string>(static_cast<std::size_t>(world)));
  return alone;
}

Agreement agree_upon(const Links& links, bool encrypts, const std::string& memory_note) {
  Agreement agreed;
  agreed.settings = links.settings;
  agreed.map = links.map;
  agreed.encrypts = encrypts;
  agreed.own_address = links.own_address;
  // This rank's own reason first. The other is the one that rank 0 reported.
  agreed.memory_note = memory_note.empty() ? links.warning : memory_note;
  // If ranks share cores, measured times would show the scheduler's decisions, not the speed of an
  // algorithm. All ranks know it (kNodes), so all skip the measurement.
  if (links.is_crowded) agreed.settings.tunes = 0;
  agreed.terms.world = agreed.map.world;
  agreed.terms.nodes = agreed.map.nodes.size();
  agreed.terms.wire = static_cast<int>(agreed.settings.wire);
  agreed.terms.is_deterministic = (agreed.settings.flags & DT_DETERMINISTIC) != 0;
  agreed.terms.table =
      AlgorithmTable::parse(agreed.settings.allreduce,
                            AlgorithmTable::by_default(agreed.terms.world, agreed.terms.nodes));
  return agreed;
}

std::string describe_agreement(const Agreement& agreement) {
  const auto& [settings, map, terms, encrypts, own_address, memory_note] = agreement;
  return fmt::format("{} ranks on {} {}{}{}, {} {} to each peer, {} wire, allreduce {} ({})",
                     map.world, map.nodes.size(), map.nodes.size() == 1 ? "host" : "hosts",
                     map.has_several_per_node() ? " with shared memory" : "",
                     encrypts ? ", encrypted between hosts" : "", settings.streams,
                     settings.streams == 1 ? "stream" : "streams", name_of_wire(settings.wire),
                     terms.table.text(), settings.tunes != 0 ? "measured" : "as given");
}

std::string stats_json(const Agreement& agreement, const Engine::Counters& counters) {
  const auto& [settings, map, terms, encrypts, own_address, memory_note] = agreement;
  const LinkCosts costs = used_costs(agreement);
  return fmt::format(
      R"({{"abi":{},"rank":{},"world":{},"nodes":{},"ranks_on_this_node":{},"shared_memory":{},)"
      R"("shared_memory_note":"{}","streams":{},"allreduce":"{}","measured":{},"latency_us":{:.1f},)"
      R"("gigabytes_per_second":{:.3f},"wire":"{}",)"
      R"("deterministic":{},"encrypted":{},"bytes_sent":{},"bytes_received":{},"scratch_bytes":{},"warnings":{}}})",
      DT_ABI, map.rank, map.world, map.nodes.size(), map.locals().size(),
      map.has_several_per_node(), escaped(memory_note), settings.streams, terms.table.text(),
      settings.tunes != 0, costs.latency * 1e6, 1e-9 / costs.byte, name_of_wire(settings.wire),
      (settings.flags & DT_DETERMINISTIC) != 0, encrypts, counters.bytes_sent,
      counters.bytes_received, counters.scratch_bytes, counters.warnings);
}

}  // namespace dtl::ring
