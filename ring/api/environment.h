#pragma once
// The options of a communicator from the environment variables that launchers set: RANK, WORLD_SIZE
// and so on are those of torchrun, DTLAUNCH_* and DTRING_* are dtlaunch's (dtring(3)). A variable
// that cannot be read is an error and not a default, since a job would silently run otherwise than
// its user wants.

#include <cstdint>
#include <string>
#include <vector>

#include "ring/api/comm.h"
#include "ring/dtring.h"

namespace dtl::ring {

// What dt_options_init sets, in ms. A field that still has this value counts as left alone.
constexpr int kDefaultConnectTimeout_ms = 60000;
constexpr int kDefaultOperationTimeout_ms = 600000, kDefaultWarnTimeout_ms = 30000;

// dt_options and the memory that it points into. The secret is wiped with it. Not copyable.
class EnvironmentOptions {
 public:
  // Throws CommError(DT_E_INVAL or DT_E_AUTH) naming the variable and its value.
  EnvironmentOptions();
  // What was given, and from the environment what was left alone: DT_ENVIRONMENT. What `given`
  // points to has to stay as long as this.
  explicit EnvironmentOptions(const dt_options& given);
  ~EnvironmentOptions();
  EnvironmentOptions(const EnvironmentOptions&) = delete;
  EnvironmentOptions& operator=(const EnvironmentOptions&) = delete;

  const dt_options& get() const { return options_; }
  const Tuning& tuning() const { return tuning_; }

 private:
  dt_options options_{};
  Tuning tuning_;
  void read_place();
  void read_choices();
  void read_secret();

  std::string master_address_, host_name_, address_, allreduce_;
  std::vector<std::uint8_t> secret_;
};

// The 64 bits that stand for a job's name in the handshake; 0 for none. They keep jobs apart, the
// secret keeps strangers out.
std::uint64_t job_number(const std::string& job);

}  // namespace dtl::ring
