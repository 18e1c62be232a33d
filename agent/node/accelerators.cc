// If a device is missed, ranks use their CPUs and a GPU stays idle; with one too many, PyTorch
// chooses. So the lists name whole drivers, of any version.
#include "agent/node/accelerators.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace dtl {
namespace {

// Device names of drivers, followed by a number: of the accelerators that PyTorch, accelerate and
// transformers support (CUDA, Gaudi, TPU, Ascend, Cambricon, MUSA, Neuron, Coral).
constexpr std::string_view kNumbered[] = {"nvidia",      "hl",      "accel",
                                          "accel/accel", "davinci", "cambricon_dev",
                                          "mtgpu.",      "neuron",  "apex_"};
// Names without a number: ROCm, and CUDA on WSL and Jetson.
constexpr std::string_view kWhole[] = {"kfd", "dxg", "nvhost-gpu", "nvgpu"};

bool is_numbered(std::string_view name, std::string_view driver) {
  return name.starts_with(driver) && name.size() > driver.size() &&
         name.find_first_not_of("0123456789", driver.size()) == std::string_view::npos;
}

// Intel's GPUs (XPU) have only a render node. Display adapters of servers and virtual machines have
// one too, but of another vendor.
bool is_intels(const std::string& root, const std::string& device) {
  std::ifstream file(root + "/sys/class/drm/" + device + "/device/vendor");
  std::string vendor;
  return file >> vendor && vendor == "0x8086";
}

bool is_accelerator(const std::string& root, const std::string& name) {
  constexpr std::string_view kDri = "dri/";
  if (is_numbered(name, "dri/renderD")) return is_intels(root, name.substr(kDri.size()));
  return std::find(std::begin(kWhole), std::end(kWhole), name) != std::end(kWhole) ||
         std::any_of(std::begin(kNumbered), std::end(kNumbered),
                     [&](std::string_view driver) { return is_numbered(name, driver); });
}

}  // namespace

std::vector<std::string> list_accelerators(const std::string& root) {
  std::vector<std::string> found;
  for (const std::string folder : {"", "dri/", "accel/"}) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(root + "/dev/" + folder, failed)) {
      const std::string name = folder + entry.path().filename().string();
      if (is_accelerator(root, name)) found.push_back("/dev/" + name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace dtl
