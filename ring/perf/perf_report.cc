// Flushes each line, so that a killed run has shown its measurements. Writes the JSON file as a
// whole at the end.
#include "ring/perf/perf_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "ring/perf/perf_text.h"
#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

constexpr std::size_t kWidth = 112;  // of a comment, without its "# " and a margin

void say(const std::string& line) {
  const std::string text = line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    // A full disk must not look like a good run.
    throw system_error("cannot write to standard output", Exit::kIo);
  }
}

std::string redop_of(const Job& job) {
  return facts_of(job.collective).reduces ? perf_op_name(job.op) : "-";
}

std::string root_of(const Job& job) {
  return facts_of(job.collective).is_rooted ? fmt::format("{}", job.root) : "-";
}

// For the tables: a wire format only matters for some collectives, types and operations.
bool has_wire(const Job& job) {
  return facts_of(job.collective).has_wire && job.dtype == DT_F32 &&
         (job.op == DT_SUM || job.op == DT_AVG);
}

// A barrier has no type.
std::string type_name(const Job& job) {
  return std::string(job.count == 0 ? "-" : type_of(job.dtype).name);
}

std::string quoted_or_null(const std::string& text) {
  return text == "-" ? "null" : json_string(text);
}

}  // namespace

PerfReport::PerfReport(const PerfOptions& options, std::vector<std::string> hosts)
    : options_(options), hosts_(std::move(hosts)), json_file_(nullptr, &std::fclose) {
  if (options.json.empty()) return;
  // Opened now, not after an hour of work. "e": close-on-exec.
  json_file_.reset(std::fopen(options.json.c_str(), "we"));
  if (!json_file_) throw cannot_write_json(Exit::kCannotWrite);
}

Error PerfReport::cannot_write_json(Exit status) const {
  return system_error(options_.json + ": cannot write", status);
}

void PerfReport::remark(std::string_view text) {
  std::string indent = "# ";
  for (const std::string& line : wrap(text, kWidth)) {
    say(indent + line);
    indent = "#   ";
  }
}

void PerfReport::begin(const std::string& stats) {
  remark(fmt::format("dtring-perf {}, libdtring with ABI {}", DTL_VERSION, dt_abi_version()));
  const auto by_host = ranks_by_host(hosts_);
  remark(fmt::format("ranks {}, hosts {}", hosts_.size(), by_host.size()));
  for (const std::string& line : by_host) remark("  ranks " + line);
  remark(fmt::format("{} iterations after {}; time: median of the iterations, {} of the ranks",
                     options_.iterations, options_.warmups, average_name(options_.average)));
  remark(options_.check ? "every element of every iteration is checked" : "nothing is checked");
  if (options_.alloc) remark("buffers from dt_alloc");
  std::string facts = "dtring:";
  for (const auto& [name, value] : json_members(stats)) {
    facts += fmt::format("{} {} {}", facts.back() == ':' ? "" : ",", name, value);
  }
  if (!stats.empty()) remark(facts);
}

void PerfReport::begin_table(const Job& job) {
  std::string name(facts_of(job.collective).name);
  if (has_wire(job)) name += fmt::format(", wire {}", wire_name(job.wire));
  constexpr const char* kColumns = " {:>10} {:>7} {:>7} {:>7}";
  const auto twice = [](const std::string& text) { return text + "  " + text; };
  say("#");
  say(fmt::format("# {:<44}{:^34}  {:^35}", name, "out of place", "in place"));
  say(fmt::format("# {:>12} {:>12} {:>5} {:>5} {:>5} ", "size", "count", "type", "redop", "root") +
      twice(fmt::format(kColumns, "time", "algbw", "busbw", "#wrong")));
  say(fmt::format("# {:>12} {:>12} {:>5} {:>5} {:>5} ", "(B)", "(elements)", "", "", "") +
      twice(fmt::format(kColumns, "(us)", "(GB/s)", "(GB/s)", "")));
}

double PerfReport::algbw(const PerfRow& row, const PerfResult& result) const {
  return result.time_us > 0 ? static_cast<double>(row.bytes) / result.time_us / 1e3 : 0;
}

double PerfReport::busbw(const PerfRow& row, const PerfResult& result) const {
  return algbw(row, result) * bus_factor(row.job.collective, world());
}

std::string PerfReport::columns(const PerfRow& row, const std::optional<PerfResult>& result) const {
  if (!result) return fmt::format(" {:>10} {:>7} {:>7} {:>7}", "-", "-", "-", "-");
  return fmt::format(" {:>10} {:>7} {:>7} {:>7}", four_digits(result->time_us),
                     four_digits(algbw(row, *result)), four_digits(busbw(row, *result)),
                     options_.check ? fmt::format("{}", result->wrong) : "N/A");
}

void PerfReport::add(const PerfRow& row) {
  const Job& job = row.job;
  say(fmt::format("  {:>12} {:>12} {:>5} {:>5} {:>5} ", row.bytes, job.count, type_name(job),
                  redop_of(job), root_of(job)) +
      columns(row, row.out_of_place) + "  " + columns(row, row.in_place));
  for (const bool is_in_place : {false, true}) {
    const auto& result = is_in_place ? row.in_place : row.out_of_place;
    if (!result) continue;
    wrong_ += result->wrong;
    json_rows_.push_back(json_row(row, *result, is_in_place));
    // A barrier has no bandwidth.
    if (row.bytes == 0) continue;
    busbw_sum_ += busbw(row, *result);
    ++busbw_count_;
  }
}

std::string PerfReport::json_row(const PerfRow& row, const PerfResult& result,
                                 bool is_in_place) const {
  const Job& job = row.job;
  const bool is_rooted = facts_of(job.collective).is_rooted;
  return fmt::format(
      R"({{"collective": "{}", "bytes": {}, "count": {}, "type": {}, "redop": {}, )"
      R"("wire": {}, "root": {}, "in_place": {}, "time_us": {:.3f}, "least_us": {:.3f}, )"
      R"("most_us": {:.3f}, "algbw": {:.6f}, "busbw": {:.6f}, "wrong": {}}})",
      facts_of(job.collective).name, row.bytes, job.count, quoted_or_null(type_name(job)),
      quoted_or_null(redop_of(job)), has_wire(job) ? json_string(wire_name(job.wire)) : "null",
      is_rooted ? root_of(job) : "null", is_in_place, result.time_us, result.least_us,
      result.most_us, algbw(row, result), busbw(row, result),
      options_.check ? fmt::format("{}", result.wrong) : "null");
}

std::string PerfReport::json(const std::string& stats) const {
  std::string text = fmt::format(
      "{{\n\"version\": \"{}\",\n\"abi\": {},\n\"time\": \"{:%FT%TZ}\",\n\"ranks\": {},\n",
      DTL_VERSION, dt_abi_version(), fmt::gmtime(std::time(nullptr)), hosts_.size());
  text += "\"hosts\": [";
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + json_string(hosts_[i]);
  }
  text += fmt::format(
      "],\n\"iterations\": {},\n\"warmups\": {},\n\"average\": \"{}\",\n\"alloc\": {},\n"
      "\"checked\": {},\n\"rows\": [\n",
      options_.iterations, options_.warmups, average_name(options_.average), options_.alloc,
      options_.check);
  for (std::size_t i = 0; i < json_rows_.size(); ++i) {
    text += json_rows_[i] + (i + 1 < json_rows_.size() ? ",\n" : "\n");
  }
  return text + fmt::format("],\n\"wrong\": {},\n\"average_busbw\": {:.6f},\n\"stats\": {}\n}}\n",
                            options_.check ? fmt::format("{}", wrong_) : "null",
                            busbw_sum_ / std::max(1, busbw_count_), stats.empty() ? "null" : stats);
}

void PerfReport::end(const std::string& stats) {
  say("#");
  say(options_.check
          ? fmt::format("# Out of bounds values : {} {}", wrong_, wrong_ == 0 ? "OK" : "FAILED")
          : "# Out of bounds values : not checked");
  say(fmt::format("# Avg bus bandwidth    : {} GB/s",
                  four_digits(busbw_sum_ / std::max(1, busbw_count_))));
  if (!json_file_) return;
  const std::string text = json(stats);
  if (std::fwrite(text.data(), 1, text.size(), json_file_.get()) != text.size() ||
      std::fclose(json_file_.release()) != 0) {
    throw cannot_write_json(Exit::kIo);
  }
}

}  // namespace dtl::ring
