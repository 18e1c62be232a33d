// Names and life of checkpoint folders. Every change is a rename of a complete folder. So a kill at
// any point leaves whole checkpoints, or folders whose name says that they are not. What is inside
// is written elsewhere (saved_state.h, checksums.h).
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

// Of any process: the one that wrote it is dead when a new run looks.
bool is_partial_name(std::string_view name) {
  const std::size_t mark = name.find(kPartial);
  return mark != std::string_view::npos && step_of_name(name.substr(0, mark)).has_value();
}

struct Checkpoint {
  std::int64_t step;
  std::string path;
};

// By step. A folder that is not there has none.
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

// The process's number keeps two runs apart that were started in the same folder by mistake.
std::string partial_path(const fs::path& output, std::string_view name) {
  return output / fmt::format("{}{}{}", name, kPartial, ::getpid());
}

// Renamed first: half a checkpoint must not bear the name of a whole one.
void remove_checkpoint(const fs::path& folder) {
  const std::string doomed = partial_path(folder.parent_path(), folder.filename().string());
  remove_folder(doomed);
  if (::rename(folder.c_str(), doomed.c_str()) != 0) {
    throw system_error(folder.string() + ": cannot remove", Exit::kCannotWrite);
  }
  remove_folder(doomed);
}

// Files and folders: a folder's entries are data of the folder.
void sync(const fs::path& path) {
  const std::string attempted = path.string() + ": cannot write";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) throw system_error(attempted, Exit::kCannotWrite);
}

// Without a list of checksums: a checkpoint of an older version, or none.
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
      // Opening compares the header with the file's size: a file that was cut short fails.
      const SafetensorsFile whole(folder / name);
    }
  } catch (const Error& error) {
    return Obstacle{fmt::format("{}: {}", error.attempted(), error.reason()), true};
  }
  return std::nullopt;
}

// Others' programs use the same names; theirs are never renamed or removed.
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
  // The user may have named the output folder instead of a checkpoint: hence inside first.
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
  // A time that cannot be read is the least one: such a folder does not count as this run's.
  std::erase_if(
      found, [&](const Checkpoint& each) { return fs::last_write_time(each.path, gone) < since; });
  for (; !found.empty(); found.pop_back()) {
    const std::string& path = found.back().path;
    const std::optional<Obstacle> obstacle = find_obstacle(path);
    if (!obstacle) return path;
    if (!obstacle->damaged) {
      // A row of checkpoints with the same reason (--save_only_model) is mentioned once.
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
  // Those of an earlier, longer run come first and go first. The others keep their order by step.
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
  // Renamed, since an interrupt would otherwise take an earlier run's checkpoint for this one's.
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
  // What a run with the same process number has left.
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
  // All files and the folder itself, before the name: after a power failure no complete name may
  // belong to files that never reached the disk.
  sync(path_);
  int status = ::rename(path_.c_str(), whole.c_str());
  if (status != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
    // Both are whole: in one step the new one takes the place of the old one, which the destructor
    // then removes. File systems that cannot do that lose the old one first.
    status = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, whole.c_str(), RENAME_EXCHANGE);
    if (status == 0) return sync(output_);
    remove_folder(whole);
    status = ::rename(path_.c_str(), whole.c_str());
  }
  if (status != 0) throw system_error(attempted, Exit::kCannotWrite);
  committed_ = true;
  // The rename is an entry of the output folder.
  sync(output_);
}

}  // namespace dtl::trainer
