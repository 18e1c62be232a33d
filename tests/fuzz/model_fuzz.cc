// Mutates good files of tensors and checks what their readers promise: tensors whose values fill
// their shapes, or one Error that names the file. A crash, another exception or more values than
// the file can hold is a failure, shown with its round.
//   model_fuzz [ROUNDS [SEED]]     the same seed gives the same files
// Built with -DDTL_LIBFUZZER -fsanitize=fuzzer (clang) it is a libFuzzer target.

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/torch_bytes.h"
#include "trainer/safetensors.h"
#include "trainer/torch_file.h"

namespace dtl::trainer {
namespace {

using Random = std::mt19937_64;

struct Outcome {
  bool accepted = false;
  std::string problem;  // empty: the reader kept its promise
};

void check(const TensorMap& tensors, std::size_t file_bytes) {
  std::size_t values = 0;
  for (const auto& [name, tensor] : tensors) {
    std::uint64_t count = 0;
    if (!count_elements(tensor.shape, count) || count != tensor.values.size()) {
      throw std::runtime_error("the values do not fill the shape of " + name);
    }
    values += tensor.values.size();
  }
  if (values > 16 * file_bytes) throw std::runtime_error("more values than the file can hold");
}

// A file in memory, under a name that can be opened.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(::memfd_create("model", MFD_CLOEXEC)) {
    write_all(fd_.get(), bytes);
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

 private:
  Fd fd_;
};

Outcome try_file(TensorMap (*read)(const std::string&), const std::string& bytes) {
  const MemoryFile file(bytes);
  try {
    check(read(file.path()), bytes.size());
    return {true, ""};
  } catch (const Error& error) {
    const bool named = error.attempted().starts_with(file.path()) && !error.reason().empty();
    return {false, named ? "" : fmt::format("the error names no file: {}", error.what())};
  } catch (const std::exception& error) {
    return {false, error.what()};
  }
}

[[maybe_unused]] std::size_t below(Random& random, std::size_t bound) {
  return random() % bound;
}

// Pieces that mean something to one of the readers.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all = {std::string(8, '\0'),
                                               std::string(8, '\xFF'),
                                               std::string(4, '\x7F'),
                                               raw<std::uint32_t>(1),
                                               "PK\x01\x02",
                                               "PK\x03\x04",
                                               "PK\x05\x06",
                                               "PK\x06\x06",
                                               "PK\x06\x07",
                                               "(",
                                               ")",
                                               "t",
                                               "\x85",
                                               "\x86",
                                               "R",
                                               "Q",
                                               "b",
                                               "u",
                                               "s",
                                               "}",
                                               "]",
                                               "q",
                                               "h",
                                               "\x8a\x09",
                                               "\x94",
                                               "cos\nsystem\n",
                                               "ctorch\nFloatStorage\n",
                                               "J\xFF\xFF\xFF\xFF",
                                               "{",
                                               "[",
                                               "\"F32\"",
                                               "\"shape\"",
                                               "-1",
                                               "18446744073709551615",
                                               ",",
                                               ":",
                                               "1e9",
                                               "\"x\":",
                                               "\xC3\x28"};
  return all;
}

[[maybe_unused]] std::string mutated(Random& random, std::string bytes) {
  for (std::size_t edits = 1 + below(random, 4); edits > 0; --edits) {
    const std::size_t at = below(random, bytes.size() + 1);
    const std::string& piece = pieces()[below(random, pieces().size())];
    switch (below(random, 7)) {
      case 0:
        bytes.insert(at, piece);
        break;
      case 1:  // in place, so that all else stays where it was
        bytes.replace(at, piece.size(), piece);
        break;
      case 2:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 3:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
        break;
      case 4:
        bytes.erase(at, 1 + below(random, 8));
        break;
      case 5:  // a part of itself again, somewhere else
        bytes.insert(below(random, bytes.size() + 1), bytes.substr(at, below(random, 40)));
        break;
      default:
        if (below(random, 4) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

struct Target {
  const char* name;
  TensorMap (*read)(const std::string& path);
  std::vector<std::string> seeds;
};

std::string good_safetensors() {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("h":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
      R"("i":{"dtype":"I64","shape":[],"data_offsets":[22,30]}})";
  return raw(static_cast<std::uint64_t>(header.size())) + header + std::string(30, '\x3F');
}

[[maybe_unused]] std::vector<Target> targets() {
  const std::vector<TorchTensor> tensors = {{"x", "FloatStorage", "0", 6, 1, {2, 2}, {3, 1}},
                                            {"y", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}},
                                            {"z", "FloatStorage", "1", 2, 0, {2}, {1}}};
  const Members storages = {{"0", float_bytes({0, 1, 2, 3, 4, 5})}, {"1", float_bytes({6, 7})}};
  const std::string pickle = pickled_state_dict(tensors);
  return {{"safetensors", read_safetensors, {good_safetensors()}},
          {"torch archive", read_torch_file, {torch_archive(pickle, storages)}},
          {"old torch file", read_torch_file, {old_torch_file(pickle, storages)}}};
}

[[maybe_unused]] int run(std::size_t rounds, std::uint64_t seed) {
  Random random(seed);
  for (const Target& target : targets()) {
    std::size_t accepted = 0, refused = 0;
    for (std::size_t round = 0; round < rounds + target.seeds.size(); ++round) {
      const bool plain = round < target.seeds.size();
      const std::string bytes =
          plain ? target.seeds[round]
                : mutated(random, target.seeds[below(random, target.seeds.size())]);
      const Outcome outcome = try_file(target.read, bytes);
      if (!outcome.problem.empty() || (plain && !outcome.accepted)) {
        fmt::print(stderr, "{}: round {} of seed {}: {}\n", target.name, round, seed,
                   outcome.problem.empty() ? "a good file is refused" : outcome.problem);
        return 1;
      }
      ++(outcome.accepted ? accepted : refused);
    }
    fmt::print("{}: {} accepted, {} refused\n", target.name, accepted, refused);
    // A mutation that is always or never refused would test nothing.
    if (rounds >= 1000 && (accepted < 10 || refused < 10)) {
      fmt::print(stderr, "{}: the mutations are one-sided\n", target.name);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace dtl::trainer

#ifdef DTL_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dtl::trainer;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!try_file(read_safetensors, bytes).problem.empty()) std::abort();
  if (!try_file(read_torch_file, bytes).problem.empty()) std::abort();
  return 0;
}
#else
int main(int argc, char** argv) {
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return dtl::trainer::run(rounds, seed);
}
#endif
