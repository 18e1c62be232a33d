// Creates, renames and removes checkpoint folders. Every change renames a complete folder. After a
// kill at any point, each folder is a complete checkpoint or has the name of a partial one.
// saved_state.h and checksums.h write the contents.
#include "trainer/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "trainer/checkpoint/checksums.h"
#include "trainer/checkpoint/saved_state.h"
#include "trainer/files/safetensors.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kPartial = ".partial-";
constexpr const char* kDamaged = ".damaged";
constexpr const char* kOld = ".old";
constexpr const char* kStateFile = "training_state.json";

std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return parse_integer(name.substr(kPrefix.size()), 0, std::numeric_limits<std::int64_t>::max());
}

// Of any process: when a new run looks, the writer is dead.
bool is_partial_name(std::string_view name) {
  const std::size_t mark = name.find(kPartial);
  return mark != std::string_view::npos && step_of_name(name.substr(0, mark)).has_value();
}

struct Checkpoint {
  std::int64_t step;
  std::string path;
};

// Sorted by step. Empty if the folder does not exist.
std::vector<Checkpoint> checkpoints_of(const std::string& output) {
  std::vector<Checkpoint> found;
  std::error_code error;
  for (fs::directory_iterator it(output, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    const auto step = step_of_name(it->path().filename().string());
    if (step && it->is_directory(unreadable)) found.push_back({*step, it->path().string()});
  }
  std::sort(found.begin(), found.end(),
            [](const Checkpoint& a, const Checkpoint& b) { return a.step < b.step; });
  return found;
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) {
    throw Error(Exit::kCannotWrite, folder.string() + ": cannot remove", error.message());
  }
}

// The pid separates two runs that were started in the same folder by mistake.
std::string partial_path(const fs::path& output, std::string_view name) {
  return output / fmt::format("{}{}{}", name, kPartial, ::getpid());
}

// Rename first: a partly removed checkpoint must not have the name of a complete one.
void remove_checkpoint(const fs::path& folder) {
  const std::string doomed = partial_path(folder.parent_path(), folder.filename().string());
  remove_folder(doomed);
  if (::rename(folder.c_str(), doomed.c_str()) != 0) {
    throw system_error(folder.string() + ": cannot remove", Exit::kCannotWrite);
  }
  remove_folder(doomed);
}

// Calls fsync on files and folders: a folder's entries are its data.
void sync(const fs::path& path) {
  const std::string attempted = path.string() + ": cannot write";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) throw system_error(attempted, Exit::kCannotWrite);
}

// For folders without checksums: checkpoints of older versions, or other folders.
std::optional<Obstacle> find_old_obstacle(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_directory(folder, unreadable)) return Obstacle{"there is no such folder"};
  if (fs::is_empty(folder, unreadable)) return Obstacle{"it is empty"};
  if (!fs::exists(folder / kStateFile, unreadable)) {
    return Obstacle{fmt::format("it has no {}: not a checkpoint of dttrain", kStateFile)};
  }
  try {
    read_training_cost(folder);
    for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
      // Opening compares the header with the file's size, which detects truncated files.
      const SafetensorsFile whole(folder / name);
    }
  } catch (const Error& error) {
    return Obstacle{fmt::format("{}: {}", error.attempted(), error.reason()), true};
  }
  return std::nullopt;
}

// Other programs use the same names. Never rename or remove their folders.
bool is_own(const fs::path& folder) {
  std::error_code unreadable;
  return has_checksums(folder) || fs::exists(folder / kStateFile, unreadable);
}

}  // namespace

std::optional<std::int64_t> checkpoint_step(const std::string& folder) {
  fs::path path(folder);
  if (!path.has_filename()) path = path.parent_path();  // "checkpoint-5/"
  return step_of_name(path.filename().string());
}

std::optional<std::string> find_last_checkpoint(const std::string& output) {
  const std::vector<Checkpoint> found = checkpoints_of(output);
  if (found.empty()) return std::nullopt;
  return found.back().path;
}

std::optional<Obstacle> find_obstacle(const std::string& folder) {
  if (!has_checksums(folder)) return find_old_obstacle(folder);
  if (const auto damage = find_damage(folder)) return Obstacle{*damage, true};
  std::error_code unreadable;
  if (fs::exists(fs::path(folder) / kStateFile, unreadable)) return std::nullopt;
  return Obstacle{"it has the model alone (--save_only_model)"};
}

std::optional<std::string> sound_checkpoint_near(const std::string& folder) {
  fs::path path(folder);
  if (!path.has_filename()) path = path.parent_path();
  const std::int64_t step = checkpoint_step(folder).value_or(0);
  const std::string beside = path.has_parent_path() ? path.parent_path().string() : ".";
  // The user may have named the output folder instead of a checkpoint: so look inside first.
  for (const std::string& place : {folder, beside}) {
    std::vector<Checkpoint> found = checkpoints_of(place);
    for (; !found.empty(); found.pop_back()) {
      if (place == beside && found.back().step >= step) continue;
      if (!find_obstacle(found.back().path)) return found.back().path;
    }
  }
  return std::nullopt;
}

std::optional<std::string> last_sound_checkpoint(const std::string& output,
                                                 std::vector<std::string>& passed,
                                                 fs::file_time_type since) {
  std::vector<Checkpoint> found = checkpoints_of(output);
  std::error_code gone;
  // An unreadable time becomes the minimum, so the folder does not count as this run's.
  std::erase_if(
      found, [&](const Checkpoint& each) { return fs::last_write_time(each.path, gone) < since; });
  for (; !found.empty(); found.pop_back()) {
    const std::string& path = found.back().path;
    const std::optional<Obstacle> obstacle = find_obstacle(path);
    if (!obstacle) return path;
    if (!obstacle->damaged) {
      // Report consecutive checkpoints with the same reason (--save_only_model) once.
      const bool known = !passed.empty() && passed.back().ends_with(": " + obstacle->reason);
      if (!known) passed.push_back(fmt::format("{}: skipped: {}", path, obstacle->reason));
      continue;
    }
    const std::string aside = path + kDamaged;
    remove_folder(aside);
    if (::rename(path.c_str(), aside.c_str()) != 0) {
      throw system_error(path + ": cannot rename this damaged checkpoint", Exit::kCannotWrite);
    }
    passed.push_back(fmt::format("{}: damaged checkpoint: {}; renamed to {}", path,
                                 obstacle->reason, fs::path(aside).filename().string()));
  }
  return std::nullopt;
}

void remove_old_checkpoints(const std::string& output, std::int64_t limit, const std::string& best,
                            std::int64_t newest) {
  if (limit <= 0) return;
  std::vector<Checkpoint> found = checkpoints_of(output);
  std::erase_if(found, [](const Checkpoint& each) { return !is_own(each.path); });
  // Checkpoints of an earlier, longer run go first. The others stay in order of step.
  std::stable_partition(found.begin(), found.end(),
                        [&](const Checkpoint& each) { return each.step > newest; });
  const std::optional<std::int64_t> best_step = checkpoint_step(best);
  auto too_many = static_cast<std::int64_t>(found.size()) - limit;
  for (const Checkpoint& each : found) {
    if (too_many <= 0) return;
    if (each.step == best_step || each.step == newest) continue;
    remove_checkpoint(each.path);
    --too_many;
  }
}

void remove_partial_checkpoints(const std::string& output) {
  std::vector<fs::path> partial;
  std::error_code error;
  for (fs::directory_iterator it(output, error), end; !error && it != end; it.increment(error)) {
    if (is_partial_name(it->path().filename().string())) partial.push_back(it->path());
  }
  for (const fs::path& folder : partial) remove_folder(folder);
}

std::vector<std::string> set_aside_checkpoints(const std::string& output) {
  // Rename them: after an interrupt, this run would otherwise resume from an earlier run's.
  std::vector<std::string> names;
  for (const Checkpoint& each : checkpoints_of(output)) {
    if (!is_own(each.path)) continue;
    const std::string aside = each.path + kOld;
    remove_folder(aside);
    if (::rename(each.path.c_str(), aside.c_str()) != 0) {
      throw system_error(each.path + ": cannot rename this checkpoint of an earlier run",
                         Exit::kCannotWrite);
    }
    names.push_back(fs::path(aside).filename().string());
  }
  return names;
}

PartialCheckpoint::PartialCheckpoint(const std::string& output, std::int64_t step)
    : output_(output),
      name_(fmt::format("{}{}", kPrefix, step)),
      path_(partial_path(output, name_)) {
  // A run with the same pid may have left a folder.
  remove_folder(path_);
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) {
    throw Error(Exit::kCannotWrite, fmt::format("{}: cannot create the folder", path_),
                error.message());
  }
}

PartialCheckpoint::~PartialCheckpoint() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(path_, ignored);
}

void PartialCheckpoint::commit() {
  const std::string whole = fs::path(output_) / name_;
  const std::string attempted = whole + ": cannot write";
  write_checksums(path_);
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    sync(it->path());
  }
  if (error) throw Error(Exit::kCannotWrite, attempted, error.message());
  // Sync all files and the folder before the rename: after a power failure, a complete name must
  // not belong to incomplete files.
  sync(path_);
  int status = ::rename(path_.c_str(), whole.c_str());
  if (status != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
    // Both are complete. Exchange them in one step; the destructor then removes the old one. On
    // file systems that cannot do this, the old one is removed first.
    status = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, whole.c_str(), RENAME_EXCHANGE);
    if (status == 0) return sync(output_);
    remove_folder(whole);
    status = ::rename(path_.c_str(), whole.c_str());
  }
  if (status != 0) throw system_error(attempted, Exit::kCannotWrite);
  committed_ = true;
  // Sync the output folder, whose entry the rename changed.
  sync(output_);
}

}  // namespace dtl::trainer
