#pragma once
// The part of a push that lets hosts feed each other, on the host that is fed (launcher/agents/
// push_tree.h decides who feeds whom). The launcher writes lines on standard input:
//  pieces BYTES TICKET SUM...   once: their length, the seeders' ticket, the SHA-256 of each
//  from ADDRESS PORT            fetch the rest from this host
//  here                         the rest follows
// The host says what it has with "send BYTES REASON" when it needs another of the last two, "at
// BYTES" from time to time, and at the end "seeds ADDRESS PORT" if others may fetch from it
// (wire/greeting.h has the form of these lines).

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "agent/entrance/arriving_files.h"

namespace dtl {

struct PushPieces {
  std::string ticket;
  PieceSums pieces;
};

// Reads "pieces ..." for `total` bytes. Throws Error(kIo) if it is not such a line.
PushPieces parse_push_pieces(const std::string& line, std::size_t total);

// Fetches what is missing from a seeder. before: bytes of the seeder's files that come before those
// of `files`. Throws Error(kIo) if it stops, stalls or lies; what came before is kept.
void fetch_from(const std::string& address, std::uint16_t port, const PushPieces& pieces,
                std::size_t before, ArrivingFiles& files, const std::function<void()>& progress);

// Says "send 0", reads the checksums, and gets everything from wherever the launcher says.
PushPieces receive_from_peers(ArrivingFiles& files, std::size_t before);

// peers: "peers", or "peers=LOW-HIGH" with the ports to listen on. Seeds the files of `folder`, and
// says so, if others can reach the address that this login came to.
void seed_to_peers(const std::string& peers, const std::string& folder,
                   std::span<const PromisedFile> files, std::string ticket);

}  // namespace dtl
