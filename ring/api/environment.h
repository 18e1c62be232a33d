#pragma once
// The options of a communicator from the environment variables that launchers set: RANK, WORLD_SIZE
// and so on are torchrun's, DTLAUNCH_* and DTRING_* are dtlaunch's (dtring(3)). An invalid variable
// is an error, since the job would otherwise silently ignore the user's setting.

#include <cstdint>
#include <string>
#include <vector>

#include "ring/api/comm.h"
#include "ring/dtring.h"

namespace dtl::ring {

// The values of dt_options_init, in ms. A field with this value counts as unchanged.
constexpr int kDefaultConnectTimeout_ms = 60000;
constexpr int kDefaultOperationTimeout_ms = 600000, kDefaultWarnTimeout_ms = 30000;

// dt_options and the memory that it points into. Wipes the secret at its end. Not copyable.
class EnvironmentOptions {
 public:
  // Throws CommError(DT_E_INVAL or DT_E_AUTH) naming the variable and its value.
  EnvironmentOptions();
  // `given`, with unchanged fields filled in from the environment: DT_ENVIRONMENT. The memory that
  // `given` points to must outlive this.
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

// The 64 bits that represent a job's name in the handshake; 0 for none. They distinguish jobs; only
// the secret authenticates.
std::uint64_t job_number(const std::string& job);

}  // namespace dtl::ring
