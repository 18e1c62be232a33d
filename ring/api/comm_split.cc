// Communicators that are split off, memory that ranks share, and what a communicator says of
// itself.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "ring/api/comm.h"
#include "ring/api/environment.h"
#include "ring/arithmetic/reduce.h"
#include "ring/common/comm_error.h"
#include "ring/common/socket.h"

namespace dtl::ring {
namespace {

// What every rank tells the others when a communicator is split.
struct Card {
  std::int32_t color = -1, key = 0, port = 0;
  std::array<char, 64> address{};  // numeric
};

}  // namespace

int Comm::split(int color, int key, Comm** part) {
  *part = nullptr;
  try {
    if (world_ == 1) {
      if (color >= 0) *part = new Comm(0, 1, tuning_);
      return DT_OK;
    }
    Card own;
    own.color = color;
    own.key = key;
    const Fd listener_owner = listen_on(resolve(own_address_, 0).front(), 1024);
    own.port = local_address(listener_owner.get()).port();
    std::strncpy(own.address.data(), own_address_.c_str(), own.address.size() - 1);
    std::vector<Card> cards(static_cast<std::size_t>(world_));
    Request request;
    request.opcode = Opcode::kAllgather;
    request.count = sizeof(Card);
    request.in = reinterpret_cast<const std::byte*>(&own);
    request.out = reinterpret_cast<std::byte*>(cards.data());
    wait_for(request);
    const std::uint64_t number = ++parts_;
    if (color < 0) return DT_OK;
    std::vector<int> members;
    for (int rank = 0; rank < world_; ++rank) {
      if (cards[static_cast<std::size_t>(rank)].color == color) members.push_back(rank);
    }
    std::stable_sort(members.begin(), members.end(), [&](int left, int right) {
      return cards[static_cast<std::size_t>(left)].key < cards[static_cast<std::size_t>(right)].key;
    });
    const Card& leader = cards[static_cast<std::size_t>(members[0])];
    *part = join_part(members, job_number(fmt::format("{}/{}/{}", job_, number, color)),
                      leader.address.data(), leader.port,
                      Fd(::fcntl(listener_owner.get(), F_DUPFD_CLOEXEC, 0)))
                .release();
    return DT_OK;
  } catch (const CommError& error) {
    *part = failed_comm(error.dt_status(), error.what());
    return error.dt_status();
  }
}

std::unique_ptr<Comm> Comm::join_part(const std::vector<int>& members, std::uint64_t job,
                                      const std::string& address, int port, Fd listener) {
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  auto part =
      std::make_unique<Comm>(static_cast<int>(place), static_cast<int>(members.size()), tuning_);
  if (members.size() == 1) return part;
  dt_options options;
  dt_options_init(&options, sizeof options);
  options.rank = part->rank_;
  options.world = part->world_;
  options.master_address = address.c_str();
  options.master_port = port;
  options.host_name = host_name_.c_str();
  options.job = job;
  options.connect_timeout_ms = connect_timeout_ms_;
  options.operation_timeout_ms = operation_timeout_ms_;
  options.warn_timeout_ms = warn_timeout_ms_;
  options.address = own_address_.c_str();
  options.streams = static_cast<std::int32_t>(settings_.streams);
  options.wire = static_cast<std::int32_t>(settings_.wire);
  options.flags = settings_.flags | (encrypts_ ? std::uint32_t{DT_ENCRYPT} : 0U);
  if (!settings_.allreduce.empty()) options.allreduce = settings_.allreduce.c_str();
  options.warn = warn_;
  options.warn_context = warn_context_;
  const Bytes secret = part_secret_.bytes();
  Identity identity{job, part->world_, part->rank_, {secret.begin(), secret.end()}};
  part->part_secret_ = part_secret_;
  part->meet_others(identity, options, place == 0 ? std::move(listener) : Fd());
  Key::wipe(identity.secret.data(), identity.secret.size());
  part->tune();
  return part;
}

void* Comm::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (memory_ != nullptr) return memory_->alloc(bytes);
  constexpr std::size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  const std::lock_guard lock(heap_mutex_);
  if (memory != nullptr) heap_.push_back(memory);
  return memory;
}

int Comm::release(void* memory) {
  if (memory == nullptr) return DT_OK;
  if (memory_ != nullptr) return memory_->free(memory) ? DT_OK : DT_E_INVAL;
  const std::lock_guard lock(heap_mutex_);
  const auto at = std::find(heap_.begin(), heap_.end(), memory);
  if (at == heap_.end()) return DT_E_INVAL;
  std::free(*at);
  heap_.erase(at);
  return DT_OK;
}

const char* wire_name(std::uint32_t wire) {
  if (wire == DT_WIRE_BF16) return "bf16";
  return wire == DT_WIRE_F16 ? "f16" : "exact";
}

std::string Comm::stats_json() const {
  const Engine::Counters counters = engine_ ? engine_->counters() : Engine::Counters{};
  std::string note;
  for (const char c : memory_note_) {
    if (c == '"' || c == '\\') note += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) note += c;
  }
  return fmt::format(
      R"({{"abi":{},"rank":{},"world":{},"nodes":{},"ranks_on_this_node":{},"shared_memory":{},)"
      R"("shared_memory_note":"{}","streams":{},"allreduce":"{}","measured":{},"wire":"{}",)"
      R"("deterministic":{},"encrypted":{},"bytes_sent":{},"bytes_received":{},"scratch_bytes":{},"warnings":{}}})",
      DT_ABI, rank_, world_, map_.nodes.size(), map_.locals().size(), map_.has_several_per_node(),
      note, settings_.streams, terms_.table.text(), settings_.tunes != 0, wire_name(settings_.wire),
      (settings_.flags & DT_DETERMINISTIC) != 0, encrypts_, counters.bytes_sent,
      counters.bytes_received, counters.scratch_bytes, counters.warnings);
}

}  // namespace dtl::ring
