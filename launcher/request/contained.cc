#include "launcher/request/contained.h"

#include "base/error.h"

namespace dtl {

void check_contained(const CommandLine& line) {
  if (line.container.empty()) return;
  if (line.environment.pmi == PmiChoice::kPmix) {
    throw option_error("--pmi pmix", "not with --container: the files of its server are the host's",
                       "--pmi pmi1, and a program of MPICH's family");
  }
  if (!line.environment.preload.empty()) {
    throw option_error("--preload", "it finds libraries of the hosts, and --container has its own",
                       "-genv LD_PRELOAD with a path in the image");
  }
  if (!line.starting.venv.empty()) {
    throw option_error("--venv", "not with --container, whose image has its own Python",
                       "an image with these packages");
  }
  if (!line.starting.sync.empty()) {
    throw option_error("--sync", "not with --container, which has the ranks' folder as it is there",
                       "-wdir with a folder that all hosts have");
  }
}

std::optional<Inheritance> inheritance_of(const CommandLine& line) {
  if (line.inheritance || line.container.empty()) return line.inheritance;
  return Inheritance{false, {}};
}

}  // namespace dtl
