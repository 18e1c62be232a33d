// A failed communicator is owned before its error is thrown, because the text comes from it.
#include "ring/perf/perf_comm.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/host_name.h"

namespace dtl::ring {
namespace {

// Lets scripts distinguish a lost host from a wrong option.
Exit exit_for(int status) {
  switch (status) {
    case DT_E_INVAL:
      return Exit::kConfig;
    case DT_E_TIMEOUT:
    case DT_E_PEER:
      return Exit::kUnreachable;
    case DT_E_MISMATCH:
      return Exit::kBadInput;
    case DT_E_AUTH:
      return Exit::kAuth;
    case DT_E_VERSION:
      return Exit::kVersion;
    default:
      return Exit::kOs;
  }
}

[[noreturn]] void fail(int status, dt_comm* comm, const std::string& what) {
  std::array<char, 1024> text{};
  if (comm != nullptr) dt_last_error(comm, text.data(), static_cast<std::uint32_t>(text.size()));
  throw Error(exit_for(status), what, text[0] != '\0' ? text.data() : dt_strerror(status));
}

}  // namespace

PerfComm::PerfComm(dt_comm* comm)
    : comm_(comm), rank_(dt_comm_rank(comm)), world_(dt_comm_size(comm)) {}

PerfComm PerfComm::join() {
  constexpr const char* kAttempt = "cannot join the other ranks";
  if (std::getenv("RANK") == nullptr) {
    dt_options options;
    dt_options_init(&options, sizeof options);
    options.world = 1;
    return create(options, kAttempt);
  }
  dt_comm* raw = nullptr;
  const int status = dt_comm_from_env(&raw);
  PerfComm comm(raw);
  if (status != DT_OK) fail(status, raw, kAttempt);
  return comm;
}

PerfComm PerfComm::create(const dt_options& options, const std::string& attempt) {
  dt_comm* raw = nullptr;
  const int status = dt_comm_create(&options, &raw);
  PerfComm comm(raw);
  if (status != DT_OK) fail(status, raw, attempt);
  return comm;
}

void PerfComm::finish(int status, const std::vector<dt_work>& works) {
  for (const dt_work work : works) {
    if (status == DT_OK) status = dt_wait(get(), work, -1);
  }
  if (status != DT_OK) fail(status, get(), "cannot measure");
}

void PerfComm::barrier() {
  dt_work work = 0;
  const int status = dt_barrier(get(), 0, &work);
  finish(status, {work});
}

void PerfComm::combine(std::vector<double>& values, int op) {
  dt_work work = 0;
  const int status = dt_allreduce(get(), values.data(), values.data(), values.size(), DT_F64, op,
                                  DT_WIRE_EXACT, 0, &work);
  finish(status, {work});
}

std::uint64_t PerfComm::sum(std::uint64_t value) {
  dt_work work = 0;
  const int status =
      dt_allreduce(get(), &value, &value, 1, DT_I64, DT_SUM, DT_WIRE_EXACT, 0, &work);
  finish(status, {work});
  return value;
}

std::vector<std::string> PerfComm::gather(std::string own) {
  constexpr std::size_t kBytes = 64;
  // Fixed size with terminator: an allgather takes the same number of bytes from each rank.
  own.resize(kBytes - 1);
  own.push_back('\0');
  std::vector<char> all(kBytes * static_cast<std::size_t>(world_));
  dt_work work = 0;
  const int status = dt_allgather(get(), own.data(), all.data(), kBytes, DT_U8, 0, &work);
  finish(status, {work});
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size(); at += kBytes) texts.emplace_back(all.data() + at);
  return texts;
}

// One color for all ranks, in their current order.
PerfComm PerfComm::split() {
  dt_comm* part = nullptr;
  const int status = dt_comm_split(get(), 0, rank_, &part);
  if (status != DT_OK) fail(status, part != nullptr ? part : get(), "cannot split");
  return PerfComm(part);
}

std::string PerfComm::stats() {
  std::string text(64 << 10, '\0');
  int length = dt_stats_json(get(), text.data(), static_cast<std::uint32_t>(text.size()));
  if (length >= static_cast<int>(text.size())) {
    text.resize(static_cast<std::size_t>(length) + 4096);  // its numbers may grow meanwhile
    length = dt_stats_json(get(), text.data(), static_cast<std::uint32_t>(text.size()));
  }
  if (length < 0 || length >= static_cast<int>(text.size())) return {};
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string told_host_name() {
  const char* told = std::getenv("DTLAUNCH_HOST");
  if (told != nullptr && *told != '\0') return told;
  return dtl::own_host_name();
}

}  // namespace dtl::ring
