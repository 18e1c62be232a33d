#pragma once
// The folders checkpoint-<step> of an output folder. One is written under the name
// checkpoint-<step>.partial-<pid> and renamed when all of it is on the disk, so that what is called
// checkpoint-<step> is complete whatever happens. Rank 0's business. Failures are
// Error(kCannotWrite) naming the folder or file.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dtl::trainer {

// The step of "<anything>/checkpoint-<step>"; nothing for other names.
std::optional<std::int64_t> checkpoint_step(const std::string& folder);

// The one of the highest step in `output`; nothing where there is none, or no `output`.
std::optional<std::string> find_last_checkpoint(const std::string& output);

// Why no run can go on from a folder: it is damaged, or it is not such a checkpoint.
struct Obstacle {
  std::string reason;    // "model.safetensors: its checksum is 0badcafe and was 1badcafe"
  bool damaged = false;  // it was one once
};
std::optional<Obstacle> find_obstacle(const std::string& folder);

// The last one that a run can go on from, of those written at `since` or later. Damaged ones are
// renamed, so that nothing takes them for checkpoints any more, others are passed over; `passed`
// says of each why.
std::optional<std::string> last_sound_checkpoint(
    const std::string& output, std::vector<std::string>& passed,
    std::filesystem::file_time_type since = std::filesystem::file_time_type::min());

// Instead of `folder`, which is none: the last one below it, or beside it and before its step.
std::optional<std::string> sound_checkpoint_near(const std::string& folder);

// Keeps `limit` checkpoints: that of the step `newest`, `best` (the path of a checkpoint, or empty)
// and the newest of the others; what has a higher step is from before this run. Never removes
// newest or best, so two may stay where limit is 1. A limit of 0 or less keeps all. What this
// program has not written is left alone.
void remove_old_checkpoints(const std::string& output, std::int64_t limit, const std::string& best,
                            std::int64_t newest);

// What a killed run left behind: for the start of a run, when nobody else writes to `output`.
void remove_partial_checkpoints(const std::string& output);

// For a run that begins anew: renames the checkpoints of this program in `output` to
// checkpoint-<step>.old, so that no run resumes from them. Replaces older ones of that name.
// Returns the new names, by step.
std::vector<std::string> set_aside_checkpoints(const std::string& output);

// A checkpoint on its way. Without commit() the destructor removes it.
class PartialCheckpoint {
 public:
  PartialCheckpoint(const std::string& output, std::int64_t step);
  PartialCheckpoint(const PartialCheckpoint&) = delete;
  PartialCheckpoint& operator=(const PartialCheckpoint&) = delete;
  ~PartialCheckpoint();

  const std::string& path() const { return path_; }  // write files here
  // Adds their checksums, waits until all files are on the disk, then gives the folder its name, in
  // place of an older one.
  void commit();

 private:
  std::string output_, name_, path_;
  bool committed_ = false;
};

}  // namespace dtl::trainer
