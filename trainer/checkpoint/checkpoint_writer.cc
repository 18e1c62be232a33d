// start() copies the state and sets busy_; work() writes the state and clears busy_. While busy_ is
// false, the training thread owns state_ and extras_. It never waits for the disk, unless the
// previous checkpoint is still being written when the next is due.
#include "trainer/checkpoint/checkpoint_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "base/files/new_file.h"
#include "base/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/saved_state.h"

namespace dtl::trainer {
namespace {

constexpr std::int64_t kPiece = 1 << 18;  // 1 MiB: a task of about 100 us

double seconds(std::chrono::duration<double> time) {
  return time.count();
}

void copy_floats(const std::vector<float>& from, std::vector<float>& to, ThreadPool& pool) {
  assert(to.size() == from.size());
  const auto count = static_cast<std::int64_t>(from.size());
  pool.run((count + kPiece - 1) / kPiece, count, [&](std::int64_t piece, int) {
    const std::int64_t begin = piece * kPiece;
    std::copy_n(from.begin() + begin, std::min(kPiece, count - begin), to.begin() + begin);
  });
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string output, const ModelConfig& config,
                                   std::optional<std::chrono::milliseconds> grace,
                                   const OptimizerSettings& optimizer)
    : output_(std::move(output)),
      config_(config),
      layout_(layout_parameters(config)),
      kept_(optimizer_state(layout_, optimizer)),
      grace_(grace),
      thread_([this] { work(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// Uses all threads of the pool while training waits.
void CheckpointWriter::copy(const TrainingState& state, ThreadPool& pool) {
  state_.step = state.step;
  copy_floats(state.parameters, state_.parameters, pool);
  copy_floats(state.m, state_.m, pool);
  copy_floats(state.v, state_.v, pool);
}

void CheckpointWriter::start(const TrainingState& state, CheckpointExtras extras,
                             ThreadPool& pool) {
  finish();
  copy(state, pool);
  extras_ = std::move(extras);
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
  }
  changed_.notify_all();
}

void CheckpointWriter::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_; });
  // Throw it only once: the next checkpoint may succeed.
  if (error_) throw *std::exchange(error_, std::nullopt);
  tell_if_slow(took_);
}

// The last write predicts the next one. Without a prediction, try to write.
std::string CheckpointWriter::ends_too_late(std::chrono::steady_clock::time_point told,
                                            std::optional<std::chrono::milliseconds> grace) {
  finish();
  if (!grace) grace = grace_;
  if (!grace || took_.count() == 0) return {};
  const auto left = *grace - (std::chrono::steady_clock::now() - told);
  if (took_ <= left) return {};
  return fmt::format("the last checkpoint took {:.1f} s to write, and {:.1f} s are left of {:g} s",
                     seconds(took_), std::max(0.0, seconds(left)), seconds(*grace));
}

// Suggests twice the time: a signal may arrive during one checkpoint, which a second one then
// follows. The notice appears once, from the training thread.
void CheckpointWriter::tell_if_slow(std::chrono::milliseconds took) {
  if (!grace_ || told_of_grace_ || took <= *grace_) return;
  log_notice(fmt::format(
      "checkpoint-{} took {:.1f} s to write, but dtlaunch kills the ranks of a stopped job after "
      "{:g} s: its last steps would be lost. Try: dtlaunch --grace {:.0f}",
      state_.step, seconds(took), seconds(*grace_), std::ceil(2 * seconds(took + *grace_))));
  told_of_grace_ = true;
}

void CheckpointWriter::work() {
  std::optional<Error> error = make_room();
  std::unique_lock lock(mutex_);
  for (;;) {
    error_ = std::move(error);
    busy_ = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return busy_ || stop_; });
    // Stop only after everything is written.
    if (!busy_) return;
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    error = write();
    const auto took = std::chrono::steady_clock::now() - start;
    lock.lock();
    // A failed write may have ended early, and does not predict the next one.
    if (!error) took_ = std::chrono::duration_cast<std::chrono::milliseconds>(took);
  }
}

// On this thread, not in start(): it takes several times as long as a copy.
std::optional<Error> CheckpointWriter::make_room() {
  try {
    state_ = state_at_start(std::vector<float>(static_cast<std::size_t>(layout_.total)), kept_);
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Error(Exit::kOs, output_ + ": cannot write checkpoints",
                 fmt::format("not enough memory for a copy of {} parameters", layout_.total));
  }
}

std::optional<Error> CheckpointWriter::write() const {
  try {
    PartialCheckpoint folder(output_, state_.step);
    if (extras_.model_only) {
      save_model(folder.path(), config_, layout_, state_.parameters);
    } else {
      write_training_state(folder.path(), config_, layout_, extras_.identity, state_, extras_.cost);
    }
    if (extras_.write_more) extras_.write_more(folder.path());
    if (!extras_.trainer_state.empty()) {
      write_file_atomically(std::filesystem::path(folder.path()) / "trainer_state.json",
                            extras_.trainer_state);
    }
    // commit() lists and syncs existing files, so the tokenizer's files and the log must exist.
    folder.commit();
    // Only after the new one is complete, so there are never fewer than before.
    remove_old_checkpoints(output_, extras_.save_total_limit, extras_.best, state_.step);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {  // out of memory, or an error of the standard library
    return Error(Exit::kCannotWrite,
                 fmt::format("{}: cannot write checkpoint-{}", output_, state_.step), error.what());
  }
}

}  // namespace dtl::trainer
