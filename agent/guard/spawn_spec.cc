// Strings come before the table that refers to them; tables are aligned to 8 bytes, the size of a
// pointer. The header is written last, when all offsets are known.
#include "agent/guard/spawn_spec.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

using EnvironmentLines = std::vector<std::string_view>;

std::string search_path(const EnvironmentLines& environment) {
  for (const std::string_view variable : environment) {
    if (variable.starts_with("PATH=")) return std::string(variable.substr(5));
  }
  return std::string(kDefaultPath);
}

// A growing image. Adding a table adds its strings before it.
class Image {
 public:
  // least_bytes: expected size, to reserve.
  explicit Image(std::size_t least_bytes) {
    bytes_.reserve(least_bytes);
    bytes_.resize(sizeof(SpawnHeader));
  }

  std::uint64_t string(std::string_view text) {
    const std::uint64_t at = bytes_.size();
    bytes_ += text;
    bytes_ += '\0';
    return at;
  }

  // Returns the table's offset, with `before` free slots in front of it.
  template <class Text>
  std::uint64_t table(const std::vector<Text>& texts, std::size_t before) {
    std::vector<std::uint64_t> offsets;
    for (const std::string_view text : texts) offsets.push_back(string(text));
    offsets.push_back(0);
    // The guard uses the slots in place as numbers, so they must be aligned.
    bytes_.resize((bytes_.size() + 7) / 8 * 8 + before * 8);
    const std::uint64_t at = bytes_.size();
    bytes_.append(reinterpret_cast<const char*>(offsets.data()), offsets.size() * 8);
    return at;
  }

  std::uint64_t bit_mask(const std::vector<std::uint32_t>& bits, std::uint64_t& mask_bytes) {
    std::vector<std::uint64_t> words;
    for (const std::uint32_t bit : bits) {
      if (bit / 64 >= words.size()) words.resize(bit / 64 + 1);
      // In the layout of cpu_set_t and the kernel's node masks on a 64-bit machine.
      words[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    mask_bytes = words.size() * 8;
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    const std::uint64_t at = bytes_.size();
    bytes_.append(reinterpret_cast<const char*>(words.data()), words.size() * 8);
    return at;
  }

  std::string finish(SpawnHeader header) {
    header.total_bytes = bytes_.size();
    std::memcpy(bytes_.data(), &header, sizeof header);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

}  // namespace

std::vector<std::string> program_candidates(const RankSpec& rank,
                                            const EnvironmentLines& environment,
                                            const std::string& own_folder) {
  const std::string program = rank.arguments.empty() ? std::string() : rank.arguments.front();
  // As in execvp(3): a name with a slash is a path, and an empty entry of PATH is the working
  // directory.
  if (program.empty() || program.find('/') != std::string::npos) return {program};
  std::vector<std::string> candidates;
  for (const std::string& folder : split(search_path(environment), ':')) {
    candidates.push_back(folder.empty() ? "./" + program : folder + "/" + program);
  }
  candidates.push_back(own_folder + "/" + program);
  return candidates;
}

std::string pack_spawn_spec(const RankSpec& rank, const EnvironmentLines& environment,
                            const std::vector<std::string>& candidates) {
  // The environment is by far the largest part: reserving for it avoids copies while the image
  // grows.
  std::size_t bytes = 4096;  // what else there is, mostly
  for (const std::string_view variable : environment) bytes += variable.size() + 1 + 8;
  Image image(bytes);
  SpawnHeader header;
  header.arguments = image.table(rank.arguments, 1);
  header.argument_count = rank.arguments.size();
  header.environment = image.table(environment, 0);
  header.environment_count = environment.size();
  header.candidates = image.table(candidates, 0);
  header.candidate_count = candidates.size();
  header.directory = image.string(rank.working_directory);
  header.umask = rank.umask;
  header.cpu_mask = image.bit_mask(rank.cpus, header.cpu_mask_bytes);
  header.memory_policy = static_cast<std::uint64_t>(rank.memory_policy);
  header.node_mask = image.bit_mask(rank.memory_nodes, header.node_mask_bytes);
  return image.finish(header);
}

// The words for SpawnFailed in wire/PROTOCOL.md; the launcher decides by them.
const char* stage_name(SpawnStage stage) {
  switch (stage) {
    case SpawnStage::kGuard:
      return "guard";
    case SpawnStage::kFork:
      return "fork";
    case SpawnStage::kSetsid:
      return "setsid";
    case SpawnStage::kFiles:
      return "files";
    case SpawnStage::kChdir:
      return "chdir";
    case SpawnStage::kAffinity:
      return "affinity";
    case SpawnStage::kExec:
      return "exec";
    case SpawnStage::kInterpreter:
      return "interpreter";
    case SpawnStage::kContainer:
      return "container";
  }
  return "guard";
}

}  // namespace dtl
