#pragma once
// SpawnSpec: everything that a rank is started with, packed by the agent into one memory image. The
// guard must not allocate, so it only maps the image and turns offsets into pointers. It checks
// every offset and refuses a wrong image.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guard/guard_protocol.h"

namespace dtl {

struct RankSpec;

constexpr std::uint64_t kSpawnSpecMagic = 0x31636570736c7464;

// Offsets count from the header's first byte. A table holds offsets of NUL-terminated strings; its
// last slot is 0. One free slot precedes the argument table: /bin/sh goes there if the program is a
// script without an interpreter line.
struct SpawnHeader {
  std::uint64_t magic = kSpawnSpecMagic;
  std::uint64_t total_bytes = 0;
  std::uint64_t arguments = 0, argument_count = 0;
  std::uint64_t environment = 0, environment_count = 0;
  std::uint64_t candidates = 0, candidate_count = 0;  // paths to try in turn
  std::uint64_t directory = 0;                        // a string; empty: do not change it
  std::uint64_t umask = 022;
  std::uint64_t cpu_mask = 0, cpu_mask_bytes = 0;    // none: not pinned
  std::uint64_t memory_policy = 0;                   // a MemoryPolicy
  std::uint64_t node_mask = 0, node_mask_bytes = 0;  // of the kernel's NUMA nodes
};

// The paths to try for a rank's program, in order; relative paths are below its working directory.
// environment: all of the rank's variables, NAME=VALUE each. own_folder: dtagent's folder; a
// program name without slash is looked for there after the rank's PATH.
std::vector<std::string> program_candidates(const RankSpec& rank,
                                            const std::vector<std::string_view>& environment,
                                            const std::string& own_folder);

std::string pack_spawn_spec(const RankSpec& rank, const std::vector<std::string_view>& environment,
                            const std::vector<std::string>& candidates);

const char* stage_name(SpawnStage stage);

}  // namespace dtl
