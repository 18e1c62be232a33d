#include "agent/node/accelerators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dtl::accelerators_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Accelerators : public ::testing::Test {
 protected:
  Accelerators() {
    char pattern[] = "/tmp/dtl-devices-XXXXXX";
    root_ = ::mkdtemp(pattern);
  }
  ~Accelerators() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text = "") {
    const std::filesystem::path path = root_ + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  std::string root_;
};

TEST_F(Accelerators, AreKnownByTheirDrivers) {
  for (const char* name :
       {"nvidia10", "nvidia0", "kfd", "hl0", "accel0", "accel/accel1", "davinci3", "neuron0"}) {
    write(std::string("/dev/") + name);
  }
  EXPECT_THAT(list_accelerators(root_),
              ElementsAre("/dev/accel/accel1", "/dev/accel0", "/dev/davinci3", "/dev/hl0",
                          "/dev/kfd", "/dev/neuron0", "/dev/nvidia0", "/dev/nvidia10"));
}

TEST_F(Accelerators, AreNotWhatIsCalledAlike) {
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia", "hlx", "null", "accel/other",
                           "kfd2", "accelerometer"}) {
    write(std::string("/dev/") + name);
  }
  EXPECT_THAT(list_accelerators(root_), IsEmpty());
}

TEST_F(Accelerators, AreIntelsGpusAndNotThoseOfServersAndVirtualMachines) {
  for (const char* device : {"renderD128", "renderD129", "renderD130"}) {
    write(std::string("/dev/dri/") + device);
  }
  write("/sys/class/drm/renderD128/device/vendor", "0x1af4");
  write("/sys/class/drm/renderD129/device/vendor", "0x8086");
  EXPECT_THAT(list_accelerators(root_), ElementsAre("/dev/dri/renderD129"));
}

TEST_F(Accelerators, AreNoneWithoutDevices) {
  EXPECT_THAT(list_accelerators(root_), IsEmpty());
}

}  // namespace
}  // namespace dtl::accelerators_test
