#pragma once
// RankStarter: makes the files that ranks are started with, and explains why the kernel refused a
// program. Owned by the session; one io_context thread. Knows nothing of running ranks.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/container/node_container.h"
#include "agent/guard/guard_link.h"
#include "agent/job/rank_streams.h"
#include "agent/job/rank_witness.h"
#include "agent/job/supervisor.h"
#include "agent/mpi/pmi_links.h"
#include "agent/mpi/pmix_link.h"
#include "base/error.h"
#include "wire/environments.h"

namespace dtl {

// What else this node has for its ranks.
struct RankServices {
  PmiLinks& pmi;
  const PmixLink& pmix;
  const NodeContainer& container;
};

class RankStarter {
 public:
  // own_folder: dtagent's folder. job_id: set before the first rank. failed: gets the report of a
  // rank whose files cannot be opened, as if the guard had sent it.
  RankStarter(const std::string& own_folder, const std::string& job_id, GuardLink& guard,
              RankStreams& streams, RankWitness& witness, RankServices services,
              std::function<void(const GuardReport&)> failed);

  // These throw Error(kVersion), see Environments. Call check() before starting a Start's first
  // rank: if an environment is missing, none of its ranks starts.
  void add(Environment environment) { environments_.add(std::move(environment)); }
  void check(const Start& start) const;
  void spawn(const SpawnRank& spawn);
  void started(std::uint32_t rank) { programs_.erase(rank); }
  // Adds why the kernel refused the program, if its file shows that: errno alone says too little.
  // Reads the file, so only for refused programs.
  SpawnFailed explained(SpawnFailed failed) const;

 private:
  std::optional<SpawnFiles> open_files(const SpawnRank& spawn);
  SpawnFiles make_files(const SpawnRank& spawn);
  void report_no_files(std::uint32_t rank, const Error& error);

  const std::string& own_folder_;
  const std::string& job_id_;
  GuardLink& guard_;
  RankStreams& streams_;
  RankWitness& witness_;
  const RankServices services_;
  const std::function<void(const GuardReport&)> failed_;
  Environments environments_;
  // The paths tried for each rank's program, until it has started.
  std::map<std::uint32_t, std::vector<std::string>> programs_;
};

}  // namespace dtl
