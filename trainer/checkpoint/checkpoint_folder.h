#pragma once
// The folders checkpoint-<step> of an output folder. One is written under the name
// checkpoint-<step>.partial-<pid> and renamed when all of it is on the disk, so that what is called
// checkpoint-<step> is complete whatever happens. Rank 0's business. Failures are
// Error(kCannotWrite) naming the folder or file.

#include <cstdint>
#include <optional>
#include <string>

namespace dtl::trainer {

// The step of "<anything>/checkpoint-<step>"; nothing for other names.
std::optional<std::int64_t> checkpoint_step(const std::string& folder);

// The one of the highest step in `output`; nothing where there is none, or no `output`.
std::optional<std::string> find_last_checkpoint(const std::string& output);

// Keeps `limit` checkpoints: the last one, `best` (the path of a checkpoint, or empty) and the
// newest of the others. Never removes the last one or best, so two may stay where limit is 1. A
// limit of 0 or less keeps all.
void remove_old_checkpoints(const std::string& output, std::int64_t limit, const std::string& best);

// What a killed run left behind: for the start of a run, when nobody else writes to `output`.
void remove_partial_checkpoints(const std::string& output);

// A checkpoint on its way. Without commit() the destructor removes it.
class PartialCheckpoint {
 public:
  PartialCheckpoint(const std::string& output, std::int64_t step);
  PartialCheckpoint(const PartialCheckpoint&) = delete;
  PartialCheckpoint& operator=(const PartialCheckpoint&) = delete;
  ~PartialCheckpoint();

  const std::string& path() const { return path_; }  // write files here
  // Waits until all files are on the disk, then gives the folder its name, in place of an older
  // one.
  void commit();

 private:
  std::string output_, name_, path_;
  bool committed_ = false;
};

}  // namespace dtl::trainer
