#pragma once
// LogFollower: sends the kept log of a detached job, and whatever the launcher adds to it, across
// rotations. Blocking; one thread.

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/machine/process_id.h"

namespace dtl {

// A place in a kept log: a file and an offset in bytes. `file` is an identity, not a name, since a
// rotation renames files. An offset beyond the end of a rotated file continues in the next one, so
// a reader simply adds up received bytes.
struct LogPlace {
  std::uint64_t file = 0, offset = 0;
};

// "123:456"; nullopt when the text is not a place.
std::optional<LogPlace> parse_place(const std::string& text);

class LogFollower {
 public:
  // folder: of the job's kept files. Throws Error(kBadInput) when there is no log.
  explicit LogFollower(std::string folder);

  void skip();  // existing output
  // Continues there. False if the next output is no longer kept; then sends all that is kept.
  bool go_on_from(LogPlace place);
  LogPlace place() const;  // where send() continues
  void send(int output);   // sends existing output not sent yet
  // Waits for more. False if the job is over and everything was sent, or if `input` has ended: the
  // reader is gone.
  bool wait(int input);

 private:
  void open_older();
  bool open_log();
  bool open_next();
  bool rotated() const;

  std::string folder_;
  Fd log_, changes_;
  ProcessId launcher_;
  bool last_round_ = false;
};

}  // namespace dtl
