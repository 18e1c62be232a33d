#pragma once
// The seeder of a push: a process that gives the programs of this host to others that the same push
// feeds. It listens on one address, for this push only. It ends when the process `until` ends, when
// nobody has come for a while, or after the longest time of a push, and leaves nothing behind. Each
// caller has a process of its own, since callers may be anybody.
//
// A caller sends seeder_request(): the ticket of the push, and where to begin in all files
// together, dtagent first. It gets the rest, in clear: programs are not secret, and the caller
// checks each piece by a checksum that it has from the launcher. The ticket keeps strangers away,
// and no more.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace dtl {

constexpr std::size_t kTicketDigits = 32;  // hexadecimal: 128 bits

// "TICKET OFFSET\n", the offset in 16 hexadecimal digits. The shell of a host without dtagent sends
// the same (kFetch in launcher/agents/agent_command.cc).
std::string seeder_request(const std::string& ticket, std::uint64_t offset);
// The offset, if it is such a request with this ticket.
std::optional<std::uint64_t> read_seeder_request(const std::string& request,
                                                 const std::string& ticket);

struct SeederWork {
  std::string address;              // numeric; of this host
  std::uint16_t low = 0, high = 0;  // ports; 0: any
  std::string ticket;               // kTicketDigits
  std::vector<Fd> files;            // open for reading; the first is dtagent
  pid_t until = 0;
  std::chrono::milliseconds idle{};
};

// Forks. Returns the port, or nothing if this host cannot seed: then others do. Call it with one
// thread.
std::optional<std::uint16_t> start_seeder(SeederWork work);

}  // namespace dtl
