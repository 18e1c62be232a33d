#pragma once
// RankStarter: what ranks are started with, and why the kernel refused one. Owned by the session;
// one io_context thread. Knows nothing of ranks that run.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/guard/guard_link.h"
#include "agent/job/rank_streams.h"
#include "agent/job/rank_witness.h"
#include "agent/job/supervisor.h"
#include "base/error.h"
#include "wire/environments.h"

namespace dtl {

class RankStarter {
 public:
  // own_folder: where dtagent lies. job_id: known before the first rank. failed: takes the report
  // of a rank whose files cannot be had, as if the guard had made it.
  RankStarter(const std::string& own_folder, const std::string& job_id, GuardLink& guard,
              RankStreams& streams, RankWitness& witness,
              std::function<void(const GuardReport&)> failed);

  // These throw Error(kVersion), see Environments. check() comes before the first rank of a Start:
  // one that names an environment which has not come starts no rank at all.
  void add(Environment environment) { environments_.add(std::move(environment)); }
  void check(const Start& start) const;
  void spawn(const SpawnRank& spawn);
  void started(std::uint32_t rank) { programs_.erase(rank); }
  // Adds why the kernel refused the program, if the file shows it: errno alone says too little.
  // Reads the file, so not for each rank that fails, but for refused programs alone.
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
  const std::function<void(const GuardReport&)> failed_;
  Environments environments_;
  // Where the program of each rank is looked for, until that has started.
  std::map<std::uint32_t, std::vector<std::string>> programs_;
};

}  // namespace dtl
