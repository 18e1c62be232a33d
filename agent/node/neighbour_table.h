#pragma once
// The kernel's table of neighbours (ARP, NDP): one entry for each host of the same network that
// this one talks to, for all network namespaces together. Debian allows 1,024. When it is full the
// kernel drops what it cannot address, and connect(2) only times out.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtl {

// How often an entry was refused since the kernel started. nullopt: not known, as in a network
// namespace other than the first.
std::optional<std::uint64_t> neighbour_refusals();

// The same from the text of /proc/net/stat/arp_cache: a line of names, and a line of hexadecimal
// counts for each CPU. nullopt: it has no such column. Pure.
std::optional<std::uint64_t> parse_neighbour_refusals(std::string_view text);

// What to say of a connection that had no answer while entries were refused.
extern const char* const kNeighbourTableFull;

}  // namespace dtl
