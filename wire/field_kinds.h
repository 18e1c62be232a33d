#pragma once
// The parts of the field table (fields.h): bounds of fields, and kinds of fields composed of
// codec.h's. The bounds are far above real nodes: they limit how much untrusted input can make us
// allocate.

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/limits.h"
#include "wire/messages.h"

namespace dtl {

constexpr std::size_t kMaxNameBytes = 255;    // names of hosts and interfaces, versions
constexpr std::size_t kMaxPathBytes = 4096;   // PATH_MAX
constexpr std::size_t kMaxTextBytes = 16384;  // text for people
constexpr std::size_t kMaxCpus = 65536;       // of a node; a CPU number is below this
constexpr std::size_t kMaxNics = 1024;
constexpr std::size_t kMaxAccelerators = 1024;
constexpr std::size_t kMaxNumaNodes = 1024;  // the kernel's own limit
constexpr std::size_t kMaxAddresses = 4096;
constexpr std::size_t kMaxStrings = 65536;      // arguments, or variables, of one rank
constexpr std::size_t kMaxEnvironments = 4096;  // a node has no more ranks, hence programs
constexpr std::size_t kMaxFacts = 4096;
constexpr std::size_t kMaxReports = 256;  // in one RankStates; more ranks take several
constexpr std::size_t kMaxComms = 16;     // reported of one rank
constexpr std::size_t kMaxWires = 32;     // the same: the busiest ones
constexpr std::uint32_t kMaxProbeBytes = 1 << 20;
// Of PMI-1's key space; ranks are told these limits.
constexpr std::size_t kMaxPmiKeyBytes = 64, kMaxPmiValueBytes = 4096;
constexpr std::size_t kMaxPmiEntries = 65536;  // in one message; more take several
// Of one message of PMIx: with 65,535 ranks it fits in a frame. More takes several.
constexpr std::size_t kMaxPmixBytes = 512 << 10;
constexpr std::size_t kMaxPmixVariables = 256;
constexpr std::size_t kMaxClaims = 2048;  // of a node
constexpr std::size_t kMaxAround = 64;    // jobs inside of each other
constexpr std::uint64_t kMaxArrivalMs = UINT64_MAX / 1000;
constexpr std::size_t kMaxParents = 64;  // of a node in a tree
constexpr std::size_t kMaxRelayedBytes = 256 << 10;
constexpr std::size_t kMaxPieceBytes = 64 << 10;  // of a SharedFrame: what a parcel holds
constexpr std::size_t kMaxPieces = 32;            // a frame has at most 1 MiB
constexpr std::uint64_t kMaxRunSeconds = 1ULL << 40;

template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

// The minimum size of an element of each list; the Reader checks a count against it.
constexpr std::size_t kLeastText = 4, kLeastCore = 28, kLeastNumaNode = 12, kLeastNic = 27,
                      kLeastEndpoint = 12, kLeastAttempt = 25, kLeastRankSpec = 38, kLeastFact = 8,
                      kLeastVariable = 8, kLeastReport = 73, kLeastComm = 52, kLeastWire = 20,
                      kLeastPmiRank = 8, kLeastPmiEntry = 8, kLeastPmixPlace = 8, kLeastClaim = 34,
                      kLeastParent = 16;

template <class Io, class M>
void texts(Io& io, const char* field, M& values, std::size_t most, std::size_t most_bytes) {
  io.list(field, values, most, kLeastText,
          [=](Io& to, auto& value) { to.c_text(field, value, most_bytes); });
}

// A signed number that is never negative, encoded as a u32.
template <class Io, class T>
void index_field(Io& io, const char* field, T& value, std::uint32_t most) {
  auto number = static_cast<std::uint32_t>(value);
  io.number(field, number, most);
  // Const for a Writer: the same function reads and writes.
  if constexpr (!std::is_const_v<T>) value = static_cast<T>(number);
}

template <class Io, class M>
void cpu_list(Io& io, const char* field, M& cpus) {
  io.list(field, cpus, kMaxCpus, 4,
          [=](Io& to, auto& cpu) { index_field(to, field, cpu, kMaxCpus - 1); });
}

template <class Io, class M>
void cpu_set(Io& io, const char* field, M& set) {
  std::vector<int> cpus;
  if constexpr (std::is_const_v<M>) cpus = set.to_vector();
  cpu_list(io, field, cpus);
  if constexpr (!std::is_const_v<M>) set = CpuSet(cpus);
}

// One byte; the values of the enumeration are 1 to `most`.
template <class Io, class T>
void enum_field(Io& io, const char* field, T& value, std::uint8_t most) {
  auto number = static_cast<std::uint8_t>(value);
  io.number(field, number, most);
  if constexpr (!std::is_const_v<T>) {
    if (number == 0) io.refuse(field, "is 0, the values are 1 to " + std::to_string(most));
    value = static_cast<T>(number);
  }
}

}  // namespace dtl
