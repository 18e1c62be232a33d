// Reads versions from the packages' metadata: importing torch takes seconds and may load a GPU
// driver. One Python answers everything, as starting it takes most of the time.
#include "agent/node/examine_python.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iterator>

#include "agent/node/run_program.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);  // for a Python on a cold network file system
constexpr std::size_t kMostBytes = 4096;
// Prints one line per answer, empty if a package is missing.
constexpr const char* kScript =
    "import sys\n"
    "print(sys.version.split()[0])\n"
    "from importlib.metadata import version\n"
    "for name in ('torch', 'numpy'):\n"
    "    try: print(version(name))\n"
    "    except Exception: print()\n";

std::string parameter(const std::vector<Fact>& parameters, const std::string& name,
                      const std::string& otherwise) {
  for (const Fact& fact : parameters) {
    if (fact.name == name && !fact.value.empty()) return fact.value;
  }
  return otherwise;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  for (const std::string& folder : split(path, ':')) {
    const std::string found = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(found.c_str(), X_OK) == 0) return found;
  }
  return {};
}

std::vector<Fact> examine_python(const std::vector<Fact>& parameters) {
  const char* own_path = std::getenv("PATH");
  const std::string path =
      parameter(parameters, "PATH", own_path == nullptr ? "/usr/bin:/bin" : own_path);
  const std::string program = find_program(parameter(parameters, "python", "python3"), path);
  if (program.empty()) return {};
  std::vector<Fact> facts = {{"python.path", program}};
  const ProgramOutput ran = run_program({program, "-c", kScript}, kPatience, kMostBytes);
  const auto lines = split(ran.text, '\n');
  const char* names[] = {"python.version", "torch.version", "numpy.version"};
  for (std::size_t i = 0; i < std::size(names) && i < lines.size(); ++i) {
    if (!lines[i].empty()) facts.push_back({names[i], lines[i]});
  }
  if (!ran.problem.empty()) facts.push_back({"python.problem", ran.problem});
  return facts;
}

}  // namespace dtl
