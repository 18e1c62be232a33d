#pragma once
// The folders checkpoint-<step> of an output folder. A checkpoint is written as
// checkpoint-<step>.partial-<pid> and renamed after fsync, so checkpoint-<step> is always complete.
// Only rank 0 uses this. Errors are Error(kCannotWrite) naming the folder or file.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dtl::trainer {

// The step of "<anything>/checkpoint-<step>"; nothing for other names.
std::optional<std::int64_t> checkpoint_step(const std::string& folder);

// The checkpoint with the highest step in `output`; nothing if there is none.
std::optional<std::string> find_last_checkpoint(const std::string& output);

// Why a run cannot resume from a folder: it is damaged, or not a complete checkpoint.
struct Obstacle {
  std::string reason;    // "model.safetensors: its checksum is 0badcafe and was 1badcafe"
  bool damaged = false;  // it was a checkpoint once
};
std::optional<Obstacle> find_obstacle(const std::string& folder);

// The last usable checkpoint among those written at `since` or later. Renames damaged checkpoints,
// so that no later run uses them, and skips others. `passed` gets a reason for each of them.
std::optional<std::string> last_sound_checkpoint(
    const std::string& output, std::vector<std::string>& passed,
    std::filesystem::file_time_type since = std::filesystem::file_time_type::min());

// If `folder` is unusable: the last usable checkpoint in it, or beside it with a lower step.
std::optional<std::string> sound_checkpoint_near(const std::string& folder);

// Keeps `limit` checkpoints: that of step `newest`, `best` (a path, or empty), and the newest
// others. Higher steps are from an earlier run and go first. Never removes newest or best, so a
// limit of 1 may leave two. A limit of 0 or less keeps all. Ignores other programs' folders.
void remove_old_checkpoints(const std::string& output, std::int64_t limit, const std::string& best,
                            std::int64_t newest);

// Removes what a killed run left. Call at the start, when no other run writes to `output`.
void remove_partial_checkpoints(const std::string& output);

// For a run that begins anew: renames this program's checkpoints in `output` to
// checkpoint-<step>.old, so that no run resumes from them. Replaces older ones with that name.
// Returns the new names in order of step.
std::vector<std::string> set_aside_checkpoints(const std::string& output);

// A checkpoint that is being written. Without commit(), the destructor removes it.
class PartialCheckpoint {
 public:
  PartialCheckpoint(const std::string& output, std::int64_t step);
  PartialCheckpoint(const PartialCheckpoint&) = delete;
  PartialCheckpoint& operator=(const PartialCheckpoint&) = delete;
  ~PartialCheckpoint();

  const std::string& path() const { return path_; }  // write files here
  // Adds checksums, syncs all files to disk, then renames the folder to its final name. Replaces an
  // older folder.
  void commit();

 private:
  std::string output_, name_, path_;
  bool committed_ = false;
};

}  // namespace dtl::trainer
