// For comparisons with Python packages:
//   state_here tensors FILE OUT           the tensors that read_tensors() finds, as safetensors
//   state_here schedule NAME WARMUP TOTAL factors of the steps 0 .. TOTAL, one per line

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "trainer/files/safetensors.h"
#include "trainer/files/tensor_files.h"
#include "trainer/step/schedule.h"

int main(int argc, char** argv) {
  using namespace dtl::trainer;
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (what == "tensors" && argc == 4) {
      write_safetensors(argv[3], read_tensors(argv[2]));
      return 0;
    }
    const auto schedule = schedule_named(argc > 2 ? argv[2] : "");
    if (what == "schedule" && argc == 5 && schedule) {
      const std::int64_t warmup = std::atoll(argv[3]), total = std::atoll(argv[4]);
      for (std::int64_t step = 0; step <= total; ++step) {
        fmt::print("{:.17g}\n", schedule_factor(*schedule, step, warmup, total));
      }
      return 0;
    }
  } catch (const dtl::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.status());
  }
  fmt::print(stderr, "usage: state_here tensors FILE OUT | schedule NAME WARMUP TOTAL\n");
  return 64;
}
