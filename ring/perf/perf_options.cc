// Rows and the functions that parse their values. parse_perf_options() checks combinations of
// options once all are parsed.
#include "ring/perf/perf_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/options/option_table.h"
#include "base/text.h"
#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

constexpr std::array kWires{DT_WIRE_EXACT, DT_WIRE_BF16, DT_WIRE_F16};

constexpr std::int64_t kMany = 1000000;
constexpr std::int64_t kMaxRoot = 65534;  // of the largest world
constexpr const char* kHelp = "dtring-perf --help";

Error usage(const std::string& what, const std::string& why, const std::string& hint = kHelp) {
  return {Exit::kUsage, what, why, hint};
}

using P = PerfOptions;

Target<P> bytes(std::uint64_t P::*member) {
  // 1 TiB: a longer number is a mistake, and shifting could overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return {Takes::kValue,
          [member](P& options, const std::string& text, const Option&) -> std::string {
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
            if (!number) {
              const std::string fault = whole_number_fault(digits, 1, kMost >> shift);
              return fault.starts_with("not") ? "not a size (such as 512, 64K or 1G)"
                                              : fault.substr(0, fault.find('(')) + "(1 to 1024G)";
            }
            options.*member = static_cast<std::uint64_t>(*number) << shift;
            return {};
          }};
}

std::vector<int> ops(const std::string& text) {
  std::vector<int> all;
  for (int op = 0; op < kOps; ++op) all.push_back(op);
  if (text == "all") return all;
  const int op = find_op(text);
  if (op < 0) throw usage("--op " + text, "no such operation");
  return {op};
}

std::vector<int> dtypes(const std::string& text) {
  if (text == "all") {
    return {DT_U8, DT_I8, DT_I32, DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64, DT_BOOL};
  }
  const PerfType* type = find_type(text);
  if (type == nullptr) throw usage("--datatype " + text, "no such type");
  return {type->dtype};
}

int wire(const std::string& text) {
  for (const int wire : kWires) {
    if (text == wire_name(wire)) return wire;
  }
  throw usage("--wire " + text, "not one of exact, bf16, f16", "--wire bf16");
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
  const std::string near = nearest(text, names);
  throw usage(text, fmt::format("not one of {}", join(names, ", ")),
              near.empty() ? kHelp : "dtring-perf " + near);
}

// Steps are a factor or a number of bytes: the last option counts.
Target<P> step_factor() {
  Target<P> target = into::whole<&P::step_factor>(2, kMany);
  target.set = [factor = target.set](P& options, const std::string& text, const Option& option) {
    options.step_bytes = 0;
    return factor(options, text, option);
  };
  return target;
}

Target<P> average() {
  return {Takes::kValue, [](P& options, const std::string& text, const Option&) {
            std::int64_t number = 0;
            std::string wrong = read_whole(text, 0, 3, number);
            if (wrong.empty()) options.average = static_cast<Average>(number);
            return wrong;
          }};
}

Target<P> place_of_result(bool P::*only, bool P::*other) {
  return {Takes::kNothing, [only, other](P& options, const std::string&, const Option&) {
            options.*only = true;
            options.*other = false;
            return std::string();
          }};
}

Target<P> check() {
  return {Takes::kValue, [](P& options, const std::string& text, const Option&) {
            std::int64_t number = 0;
            std::string wrong = read_whole(text, 0, 1, number);
            options.check = number != 0;
            return wrong;
          }};
}

const OptionTable<P>& perf_table() {
  // A row is read as one.
  // clang-format off
  static const OptionTable<P> kTable(std::vector<OptionRow<P>>{
      {"", {"-b", "--minbytes"}, "SIZE", "smallest size, 4; K, M and G are 2^10, 2^20 and 2^30",
       bytes(&P::min_bytes)},
      {"", {"-e", "--maxbytes"}, "SIZE", "largest size, 64M", bytes(&P::max_bytes)},
      {"", {"-f", "--stepfactor"}, "N", "each size is N times the one before, 4", step_factor()},
      {"", {"-i", "--stepbytes"}, "SIZE", "each size is SIZE more than the one before",
       bytes(&P::step_bytes)},
      {"", {"-n", "--iters"}, "N", "timed iterations per size, 20",
       into::whole<&P::iterations>(1, kMany)},
      {"", {"-w", "--warmup_iters"}, "N", "untimed iterations before them, 2",
       into::whole<&P::warmups>(0, kMany)},
      {"", {"-c", "--check"}, "0|1", "check every element of every iteration, 1", check()},
      {"", {"-o", "--op"}, "OP", "sum, avg, min, max, prod, band, bor, bxor or all; sum",
       into::parsed<ops, &P::ops>()},
      {"", {"-d", "--datatype"}, "TYPE", "u8, i8, i32, i64, f16, bf16, f32, f64, bool or all; f32",
       into::parsed<dtypes, &P::dtypes>()},
      {"", {"-r", "--root"}, "RANK", "the root, 0", into::whole<&P::root>(0, kMaxRoot)},
      {"", {"-a", "--average"}, "0|1|2|3", "time of rank 0 (0), mean (1), least (2), most (3); 3",
       average()},
      {"", {"--wire"}, "WIRE", "f32 sums travel as exact, bf16 or f16; as DTRING_WIRE says",
       into::parsed<wire, &P::wire>()},
      {"", {"--alloc"}, "", "buffers from dt_alloc", into::flag<&P::alloc>()},
      {"", {"--in-place"}, "", "in place only", place_of_result(&P::in_place, &P::out_of_place)},
      {"", {"--out-of-place"}, "", "out of place only",
       place_of_result(&P::out_of_place, &P::in_place)},
      {"", {"--json"}, "FILE", "also write the results to FILE, as JSON", into::text<&P::json>()},
      {"", {"--links"}, "", "measure the links between hosts instead; start one rank per host",
       into::flag<&P::links>()},
      {"", {"--explain"}, "", "predict times of allreduce instead, and say which algorithm is chosen",
       into::flag<&P::explain>()},
      {"", {"--raw"}, "", "with --links: lines \"link FROM TO GBIT/S TRIP-US CPU-NS\"",
       into::flag<&P::raw>()},
      {"", {"-h", "--help"}, "", "show the options", into::flag<&P::help>()},
      {"", {"--version"}, "", "show the version", into::flag<&P::version>()},
      {"", {"--completion"}, kShells, "print the completion script of a shell",
       into::text<&P::shell>()},
      {"", {"-v", "--verbose"}, "", "with --version: also the libraries inside",
       into::flag<&P::verbose>()},
  });
  // clang-format on
  return kTable;
}

bool any_combination(const PerfOptions& options) {
  for (const int dtype : options.dtypes) {
    for (const int op : options.ops) {
      if (is_combinable(dtype, op)) return true;
    }
  }
  return false;
}

// The values of --op, --datatype and --wire; empty for others.
std::vector<std::string> words_of(std::string_view column) {
  std::vector<std::string> words;
  if (column == "OP") {
    for (int op = 0; op < kOps; ++op) words.emplace_back(perf_op_name(op));
  }
  if (column == "TYPE") {
    for (const int dtype : dtypes("all")) words.emplace_back(type_of(dtype).name);
  }
  if (!words.empty()) words.emplace_back("all");
  if (column == "WIRE") {
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

PerfOptions parse_perf_options(const std::vector<std::string>& arguments) {
  const Manner manner{.help = kHelp, .last_wins = true, .letters = true};
  const OptionWords words = read_option_words(perf_table().options(), arguments, manner);
  PerfOptions options;
  perf_table().apply(words.options, options, kHelp);
  const bool has_maximum = words.has("--maxbytes");
  if (words.rest.size() > 1) {
    throw usage(words.rest[1], "more than one collective", "dtring-perf all");
  }
  if (options.raw && !options.links) throw usage("--raw", "needs --links", "--links --raw");
  if ((options.links || options.explain) && !words.rest.empty()) {
    throw usage(words.rest[0],
                fmt::format("{} measures no collective", options.links ? "--links" : "--explain"),
                "dtring-perf " + words.rest[0]);
  }
  if (options.links && options.explain) {
    throw usage("--explain", "not with --links", "dtring-perf --explain");
  }
  if (!words.rest.empty()) options.collectives = collectives(words.rest[0]);
  if (!options.in_place && !options.out_of_place) options.in_place = options.out_of_place = true;
  // With only a large minimum, the user wants to see that size.
  if (!has_maximum) options.max_bytes = std::max(options.max_bytes, options.min_bytes);
  if (options.max_bytes < options.min_bytes) {
    throw usage(fmt::format("--maxbytes {}", options.max_bytes),
                fmt::format("less than --minbytes {}", options.min_bytes),
                fmt::format("--maxbytes {}", options.min_bytes));
  }
  if (!any_combination(options)) {
    const std::string_view type = type_of(options.dtypes.front()).name;
    throw usage(fmt::format("--op {}", perf_op_name(options.ops.front())),
                fmt::format("not for --datatype {}", type),
                fmt::format("--op all --datatype {}", type));
  }
  return options;
}

Completion perf_completion() {
  CompletedCommand perf;
  perf.operand.words = {"all"};
  for (const CollectiveFacts& facts : all_collectives()) {
    perf.operand.words.emplace_back(facts.name);
  }
  for (const Option& row : perf_table().options()) {
    CompletedOption option = completed(row);
    if (std::vector<std::string> words = words_of(row.value); !words.empty()) {
      option.value.words = std::move(words);
    }
    perf.options.push_back(std::move(option));
  }
  return {"dtring-perf", false, {std::move(perf)}};
}

std::string perf_help() {
  std::string text =
      "usage: dtlaunch -f hosts dtring-perf [options] [collective]\n"
      "Times libdtring's collectives and checks their results. Alone it is one rank.\n"
      "Collectives: all";
  for (const CollectiveFacts& facts : all_collectives()) text += fmt::format(", {}", facts.name);
  // The list is too long for one line of a terminal.
  text.replace(text.find(", broadcast"), 2, ",\n  ");
  text += ".\nDefault: allreduce.\n\n";
  text += options_text(perf_table().options(), {.column = 28});
  return text;
}

}  // namespace dtl::ring
