#include "ring/perf/perf_options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

enum LongOnly { kWire = 256, kAlloc, kInPlace, kOutOfPlace, kJson, kVersion, kCompletion };

struct PerfOption {
  int key;  // its letter, or a LongOnly
  const char* name;
  const char* value;  // nullptr: takes none
  const char* help;
};

constexpr std::array kOptions{
    PerfOption{'b', "minbytes", "SIZE", "smallest size, 4; K, M and G are 2^10, 2^20 and 2^30"},
    PerfOption{'e', "maxbytes", "SIZE", "largest size, 64M"},
    PerfOption{'f', "stepfactor", "N", "each size is N times the one before, 4"},
    PerfOption{'i', "stepbytes", "SIZE", "each size is SIZE more than the one before"},
    PerfOption{'n', "iters", "N", "timed iterations per size, 20"},
    PerfOption{'w', "warmup_iters", "N", "iterations before them, 2"},
    PerfOption{'c', "check", "0|1", "check every element of every iteration, 1"},
    PerfOption{'o', "op", "OP", "sum, avg, min, max, prod, band, bor, bxor or all; sum"},
    PerfOption{'d', "datatype", "TYPE", "u8, i8, i32, i64, f16, bf16, f32, f64, bool or all; f32"},
    PerfOption{'r', "root", "RANK", "the root, 0"},
    PerfOption{'a', "average", "0|1|2|3", "time of rank 0 (0), mean (1), least (2), most (3); 3"},
    PerfOption{kWire, "wire", "WIRE", "f32 sums travel as exact, bf16 or f16; as DTRING_WIRE says"},
    PerfOption{kAlloc, "alloc", nullptr, "buffers from dt_alloc"},
    PerfOption{kInPlace, "in-place", nullptr, "in place only"},
    PerfOption{kOutOfPlace, "out-of-place", nullptr, "out of place only"},
    PerfOption{kJson, "json", "FILE", "write the results there, too"},
    PerfOption{'h', "help", nullptr, "show the options"},
    PerfOption{kVersion, "version", nullptr, "show the version"},
    PerfOption{kCompletion, "completion", kShells, "show the shell's script for completion"},
    PerfOption{'v', "verbose", nullptr, "with --version: the libraries inside, too"},
};

constexpr std::array kWires{DT_WIRE_EXACT, DT_WIRE_BF16, DT_WIRE_F16};

Error usage(const std::string& what, const std::string& why) {
  return {Exit::kUsage, what, why, "dtring-perf --help"};
}

std::int64_t integer(const std::string& name, const std::string& text, std::int64_t low,
                     std::int64_t high) {
  const auto number = parse_integer(text, low, high);
  if (!number) throw usage(name, fmt::format("'{}' is not a number in {}..{}", text, low, high));
  return *number;
}

std::uint64_t size(const std::string& name, const std::string& text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::string digits = text;
  int shift = 0;
  if (!digits.empty()) {
    const std::size_t unit =
        std::string_view("kmg").find(to_lower(digits.substr(digits.size() - 1)));
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<int>(unit + 1);
      digits.pop_back();
    }
  }
  const auto number = parse_integer(digits, 1, kMost >> shift);
  if (!number) throw usage(name, fmt::format("'{}' is not a size such as 512, 64K or 1G", text));
  return static_cast<std::uint64_t>(*number) << shift;
}

std::vector<int> ops(const std::string& text) {
  std::vector<int> all;
  for (int op = 0; op < kOps; ++op) all.push_back(op);
  if (text == "all") return all;
  const int op = find_op(text);
  if (op < 0) throw usage("--op", fmt::format("there is no operation '{}'", text));
  return {op};
}

std::vector<int> dtypes(const std::string& text) {
  if (text == "all") {
    return {DT_U8, DT_I8, DT_I32, DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64, DT_BOOL};
  }
  const PerfType* type = find_type(text);
  if (type == nullptr) throw usage("--datatype", fmt::format("there is no type '{}'", text));
  return {type->dtype};
}

int wire(const std::string& text) {
  for (const int wire : kWires) {
    if (text == wire_name(wire)) return wire;
  }
  throw usage("--wire", fmt::format("'{}' is none of exact, bf16, f16", text));
}

std::vector<Collective> collectives(const std::string& text) {
  std::vector<Collective> all;
  std::vector<std::string> names{"all"};
  for (const CollectiveFacts& facts : all_collectives()) {
    if (text == facts.name) return {facts.collective};
    all.push_back(facts.collective);
    names.emplace_back(facts.name);
  }
  if (text == "all") return all;
  throw usage(fmt::format("'{}'", text),
              fmt::format("there is no such collective, but: {}", join(names, " ")));
}

// What getopt_long wants.
struct Tables {
  std::string letters = ":";
  std::vector<option> names;

  Tables() {
    for (const PerfOption& o : kOptions) {
      names.push_back(
          {o.name, o.value == nullptr ? no_argument : required_argument, nullptr, o.key});
      if (o.key >= kWire) continue;
      letters += static_cast<char>(o.key);
      if (o.value != nullptr) letters += ':';
    }
    names.push_back({});
  }
};

void set(PerfOptions& options, int key, const std::string& text) {
  constexpr int kMost = 1000000;
  switch (key) {
    case 'b':
      options.min_bytes = size("--minbytes", text);
      break;
    case 'e':
      options.max_bytes = size("--maxbytes", text);
      break;
    case 'f':
      options.step_factor = static_cast<std::uint64_t>(integer("--stepfactor", text, 2, kMost));
      options.step_bytes = 0;
      break;
    case 'i':
      options.step_bytes = size("--stepbytes", text);
      break;
    case 'n':
      options.iterations = static_cast<int>(integer("--iters", text, 1, kMost));
      break;
    case 'w':
      options.warmups = static_cast<int>(integer("--warmup_iters", text, 0, kMost));
      break;
    case 'c':
      options.check = integer("--check", text, 0, 1) != 0;
      break;
    case 'o':
      options.ops = ops(text);
      break;
    case 'd':
      options.dtypes = dtypes(text);
      break;
    case 'r':
      options.root = static_cast<int>(integer("--root", text, 0, 65534));
      break;
    case 'a':
      options.average = static_cast<Average>(integer("--average", text, 0, 3));
      break;
    case 'h':
      options.help = true;
      break;
    case kWire:
      options.wire = wire(text);
      break;
    case kAlloc:
      options.alloc = true;
      break;
    case kInPlace:
      options.in_place = true, options.out_of_place = false;
      break;
    case kOutOfPlace:
      options.out_of_place = true, options.in_place = false;
      break;
    case kJson:
      options.json = text;
      break;
    case kVersion:
      options.version = true;
      break;
    case kCompletion:
      options.shell = text;
      break;
    case 'v':
      options.verbose = true;
      break;
    default:
      break;
  }
}

bool any_combination(const PerfOptions& options) {
  for (const int dtype : options.dtypes) {
    for (const int op : options.ops) {
      if (is_combinable(dtype, op)) return true;
    }
  }
  return false;
}

// What the options of --op, --datatype and --wire take; empty for all others.
std::vector<std::string> words_of(int key) {
  std::vector<std::string> words;
  if (key == 'o') {
    for (int op = 0; op < kOps; ++op) words.emplace_back(perf_op_name(op));
  }
  if (key == 'd') {
    for (const int dtype : dtypes("all")) words.emplace_back(type_of(dtype).name);
  }
  if (!words.empty()) words.emplace_back("all");
  if (key == kWire) {
    for (const int wire : kWires) words.emplace_back(wire_name(wire));
  }
  return words;
}

}  // namespace

const char* average_name(Average average) {
  constexpr std::array kNames{"rank 0", "mean", "least", "most"};
  return kNames[static_cast<std::size_t>(average)];
}

const char* wire_name(int wire) {
  constexpr std::array kNames{"default", "exact", "bf16", "f16"};
  return kNames[static_cast<std::size_t>(wire)];
}

std::vector<std::uint64_t> PerfOptions::sizes() const {
  std::vector<std::uint64_t> all;
  for (std::uint64_t bytes = min_bytes; bytes <= max_bytes;) {
    all.push_back(bytes);
    bytes = step_bytes != 0 ? bytes + step_bytes : bytes * step_factor;
  }
  return all;
}

PerfOptions parse_perf_options(int argc, char** argv) {
  const Tables tables;
  PerfOptions options;
  bool has_maximum = false;
  opterr = 0;
  int key = 0;
  while ((key = getopt_long(argc, argv, tables.letters.c_str(), tables.names.data(), nullptr)) !=
         -1) {
    const std::string word = argv[std::min(optind, argc) - 1];
    if (key == '?') throw usage(fmt::format("'{}'", word), "there is no such option");
    if (key == ':') throw usage(fmt::format("'{}'", word), "it needs a value");
    set(options, key, optarg == nullptr ? "" : optarg);
    has_maximum |= key == 'e';
  }
  if (argc - optind > 1)
    throw usage(fmt::format("'{}'", argv[optind + 1]), "one collective, or all");
  if (argc > optind) options.collectives = collectives(argv[optind]);
  if (!options.in_place && !options.out_of_place) options.in_place = options.out_of_place = true;
  if (!has_maximum) options.max_bytes = std::max(options.max_bytes, options.min_bytes);
  if (options.max_bytes < options.min_bytes) {
    throw usage("--maxbytes", "it is less than --minbytes");
  }
  if (!any_combination(options)) {
    throw usage("--op", fmt::format("{} is not for {}", perf_op_name(options.ops.front()),
                                    type_of(options.dtypes.front()).name));
  }
  return options;
}

Completion perf_completion() {
  CompletedCommand perf;
  perf.operand.words = {"all"};
  for (const CollectiveFacts& facts : all_collectives()) {
    perf.operand.words.emplace_back(facts.name);
  }
  for (const PerfOption& o : kOptions) {
    CompletedOption option{{std::string("--") + o.name}, o.help};
    if (o.key < kWire) {
      option.names.insert(option.names.begin(), {'-', static_cast<char>(o.key)});
    }
    if (o.value != nullptr) {
      option.follows = Follows::kValue;
      option.value = value_of_column(o.value);
      if (std::vector<std::string> words = words_of(o.key); !words.empty()) {
        option.value.words = std::move(words);
      }
    }
    perf.options.push_back(std::move(option));
  }
  return {"dtring-perf", false, {std::move(perf)}};
}

std::string perf_help() {
  std::string text =
      "usage: dtlaunch -f hosts dtring-perf [options] [collective]\n"
      "Times the collectives of libdtring and checks their results; alone, with one rank.\n"
      "Collectives: all";
  for (const CollectiveFacts& facts : all_collectives()) text += fmt::format(", {}", facts.name);
  text.replace(text.find(", broadcast"), 2, ",\n  ");
  text += "; allreduce if none is named\n\n";
  for (const PerfOption& o : kOptions) {
    const std::string letter = o.key < kWire ? fmt::format("-{}, ", static_cast<char>(o.key)) : "";
    const std::string value = o.value == nullptr ? "" : fmt::format(" {}", o.value);
    text += fmt::format("  {:<26}{}\n", fmt::format("{}--{}{}", letter, o.name, value), o.help);
  }
  return text;
}

}  // namespace dtl::ring
