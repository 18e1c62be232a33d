// Guesses as accelerate does, from devices, variables and words of the command. A wrong yes slows
// down a job on GPUs; a wrong no makes each rank train a separate model.
#include "plan/accelerators.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace dtl {
namespace {

// A rank's value of this variable; nullopt if it is not set. The last entry counts, and `set` wins
// over `inherited`, as in the rank's environment.
std::optional<std::string> value_of(std::string_view name, const Variables& inherited,
                                    const Variables& set) {
  std::optional<std::string> value;
  for (const Variables* variables : {&inherited, &set}) {
    for (const auto& [each, text] : *variables) {
      if (each == name) value = text;
    }
  }
  return value;
}

// As the CUDA and ROCm runtimes read it: a device that does not exist ends the list.
bool shows_none(const std::optional<std::string>& devices) {
  return devices && (devices->empty() || devices->starts_with('-') || *devices == "NoDevFiles");
}

}  // namespace

bool computes_on_cpu(const std::vector<std::string>& devices,
                     const std::vector<std::string>& command, const Variables& inherited,
                     const Variables& set) {
  // ROCm's runtime also obeys CUDA_VISIBLE_DEVICES, but CUDA's only knows its own variable.
  const bool no_cuda = shows_none(value_of("CUDA_VISIBLE_DEVICES", inherited, set));
  const bool no_rocm = no_cuda || shows_none(value_of("HIP_VISIBLE_DEVICES", inherited, set));
  const auto is_usable = [&](std::string_view device) {
    // Devices of other kinds count: no variable known here hides them.
    if (device.starts_with("/dev/nvidia")) return !no_cuda;
    return device != "/dev/kfd" || !no_rocm;
  };
  if (std::any_of(devices.begin(), devices.end(), is_usable)) return false;
  const auto deepspeed = value_of("ACCELERATE_USE_DEEPSPEED", inherited, set);
  // If the word is neither true nor false, assumes DeepSpeed.
  if (deepspeed && parse_truth(*deepspeed).value_or(true)) return false;
  return std::none_of(command.begin(), command.end(), [](std::string_view argument) {
    return argument == "--deepspeed" || argument.starts_with("--deepspeed=") ||
           argument == "--use_deepspeed";
  });
}

}  // namespace dtl
