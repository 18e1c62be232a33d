#include "tests/trainer/thread_ring.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

namespace {

struct World {
  explicit World(int ranks) : size(ranks), in(static_cast<std::size_t>(ranks)) {}
  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void*> in;
  int arrived = 0;
  std::uint64_t round = 0;
  std::string aborted;

  // Waits until all ranks are here. False after an abort.
  bool meet() {
    std::unique_lock lock(mutex);
    const std::uint64_t mine = round;
    if (++arrived == size) {
      arrived = 0;
      ++round;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return round != mine || !aborted.empty(); });
    return aborted.empty();
  }
};

}  // namespace

struct dt_comm {
  World* world;
  int rank;
};

namespace {

// Shows `in` to all ranks, lets use() read everyone's, then lets all continue.
template <class Use>
int exchange(dt_comm* comm, const void* in, dt_work* work, const Use& use) {
  World& world = *comm->world;
  world.in[static_cast<std::size_t>(comm->rank)] = in;
  if (!world.meet()) return DT_E_ABORTED;
  use(world);
  *work = 1;
  return world.meet() ? DT_OK : DT_E_ABORTED;
}

// The upper half of a float, rounded to nearest, ties to even. (Not for NaN.)
float to_bf16(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;
  return std::bit_cast<float>(bits);
}

}  // namespace

extern "C" {

int dt_comm_from_env(dt_comm**) {
  return DT_E_INVAL;
}
int dt_comm_rank(const dt_comm* comm) {
  return comm->rank;
}
int dt_comm_size(const dt_comm* comm) {
  return comm->world->size;
}
int dt_comm_abort(dt_comm* comm, const char* why) {
  const std::lock_guard lock(comm->world->mutex);
  if (comm->world->aborted.empty()) comm->world->aborted = why;
  comm->world->changed.notify_all();
  return DT_OK;
}
int dt_comm_destroy(dt_comm* comm) {
  delete comm;
  return DT_OK;
}

int dt_allreduce(dt_comm* comm, const void* in, void* out, uint64_t count, int, int, int wire,
                 uint64_t, dt_work* work) {
  const auto sent = [&](float value) { return wire == DT_WIRE_BF16 ? to_bf16(value) : value; };
  std::vector<float> sum(count);
  const int status = exchange(comm, in, work, [&](World& world) {
    for (const void* each : world.in) {
      const auto* values = static_cast<const float*>(each);
      for (uint64_t i = 0; i < count; ++i) sum[i] += sent(values[i]);
    }
    for (float& value : sum) value = sent(value);
  });
  std::memcpy(out, sum.data(), count * sizeof(float));
  return status;
}

int dt_allgather(dt_comm* comm, const void* in, void* out, uint64_t, int, uint64_t, dt_work* work) {
  return exchange(comm, in, work, [&](World& world) {
    for (std::size_t rank = 0; rank < world.in.size(); ++rank) {
      std::memcpy(static_cast<char*>(out) + 8 * rank, world.in[rank], 8);
    }
  });
}

int dt_allgatherv(dt_comm* comm, const void* in, void* out, const uint64_t* counts, int, uint64_t,
                  dt_work* work) {
  return exchange(comm, in, work, [&](World& world) {
    auto* to = static_cast<float*>(out);
    for (std::size_t rank = 0; rank < world.in.size(); ++rank) {
      to = std::copy_n(static_cast<const float*>(world.in[rank]), counts[rank], to);
    }
  });
}

int dt_broadcast(dt_comm* comm, void* data, uint64_t count, int, int, uint64_t, dt_work* work) {
  return exchange(comm, data, work, [&](World& world) {
    if (comm->rank != 0) std::memcpy(data, world.in[0], count);
  });
}

int dt_barrier(dt_comm* comm, uint64_t, dt_work* work) {
  return exchange(comm, nullptr, work, [](World&) {});
}
int dt_wait(dt_comm*, dt_work, int32_t) {
  return DT_OK;
}
int dt_progress(uint64_t, uint64_t, uint64_t, double) {
  return DT_OK;
}
const char* dt_strerror(int) {
  return "error";
}
int dt_last_error(dt_comm* comm, char* text, uint32_t bytes) {
  const std::lock_guard lock(comm->world->mutex);
  std::strncpy(text, comm->world->aborted.c_str(), bytes - 1);
  return DT_OK;
}

}  // extern "C"

namespace dtl::trainer {

void run_ranks(int ranks, const std::function<void(Ranks&)>& body) {
  World world(ranks);
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Ranks group(new dt_comm{&world, rank});
      try {
        body(group);
      } catch (const Error& error) {
        const bool mine = !group.ended_by_peer();
        group.abort(error);
        const std::lock_guard lock(world.mutex);
        if (mine) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace dtl::trainer
