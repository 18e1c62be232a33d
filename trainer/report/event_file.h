#pragma once
// EventFile: scalars for TensorBoard, written immediately. The format is TFRecord (length, masked
// CRC-32C of the length, payload, masked CRC-32C of the payload) around protocol buffers of type
// tensorflow.Event, of which we use four fields. One thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace dtl::trainer {

class EventFile {
 public:
  // Creates `folder` and in it events.out.tfevents.SECONDS.HOST.PID.0. Throws Error(kCannotWrite).
  explicit EventFile(const std::string& folder);

  // Adds an event with the current time. It is complete in the file on return. Throws Error(kIo).
  void add(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd file_;
};

// OUTPUT/runs/Nov21_15-04-05_HOST, as in transformers.
std::string default_logging_dir(const std::string& output_folder);

// Parts of the file, as bytes.
std::string event_record(std::string_view payload);
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, double>>& scalars);

}  // namespace dtl::trainer
