// The launcher and libdtring share only the names of these variables.
#include "launcher/request/ring_variables.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kRingSilence = 20s;  // libdtring's own, dtring(3)

bool has_variable(const Variables& variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& variable) { return variable.first == name; });
}

// Ranks must wait for a host at least as long as the launcher does, or they would give each other
// up while it still searches. Twice as long, because TCP doubles its pauses: it may sleep for as
// long again as the network was away.
void wait_for_hosts(Variables& inherited, std::chrono::milliseconds reconnect) {
  if (has_variable(inherited, "DTRING_SILENCE")) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(kRingSilence + 2 * reconnect);
  inherited.emplace_back("DTRING_SILENCE", std::to_string(seconds.count()));
}

}  // namespace

void add_ring_variables(Variables& inherited, const CommandLine& line) {
  if (line.verbosity > 0) inherited.emplace_back("DTRING_VERBOSE", "1");
  if (line.ending.reconnect.count() > 0) wait_for_hosts(inherited, line.ending.reconnect);
}

}  // namespace dtl
