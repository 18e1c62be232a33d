#pragma once
// LogFollower: sends the kept log of a detached job, and what the launcher goes on adding to it,
// across its rotations. Blocking; one thread.

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/machine/process_id.h"

namespace dtl {

// A place in a kept log: a file, and how many bytes after its start. `file` is an identity and not
// a name, since a rotation renames files. A place beyond the end of a rotated file is in the next
// one: so a reader only adds up what it gets.
struct LogPlace {
  std::uint64_t file = 0, offset = 0;
};

// "123:456"; nullopt when the text is not a place.
std::optional<LogPlace> parse_place(const std::string& text);

class LogFollower {
 public:
  // folder: of the job's kept files. Throws Error(kBadInput) when there is no log.
  explicit LogFollower(std::string folder);

  void skip();  // what is there already
  // Goes on from there. False: what came next is not kept any more, and all that is there is sent.
  bool go_on_from(LogPlace place);
  LogPlace place() const;  // where send() goes on
  void send(int output);   // what is there and was not sent yet
  // Waits for more. False when the job is over and everything has been sent, or when `input` has
  // ended: whoever asked has gone.
  bool wait(int input);

 private:
  void open_older();
  bool open_log();
  bool rotated() const;

  std::string folder_;
  Fd log_, changes_;
  ProcessId launcher_;
  bool last_round_ = false;
};

}  // namespace dtl
