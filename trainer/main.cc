// dttrain: fine-tunes encoders for text classification and question answering, alone or as one of
// many ranks. Reads the command line, joins the ranks, and turns Errors into messages and exit
// statuses. job/fine_tune.cc does the run's work.

#include <immintrin.h>

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/machine/descriptor_limit.h"
#include "trainer/completion.h"
#include "trainer/init/init_model.h"
#include "trainer/job/fine_tune.h"
#include "trainer/job/stop_signal.h"
#include "trainer/libraries.h"
#include "trainer/report/progress.h"
#include "trainer/settings/help.h"

namespace dtl::trainer {
namespace {

using namespace std::chrono_literals;

// Optimizer moments of words that no longer occur decay into denormal numbers, which are a hundred
// times slower on many CPUs. Threads inherit this setting.
void flush_denormals() {
  // Bits of MXCSR (Intel SDM, volume 1, 10.2.3).
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
}

constexpr auto kTimeToComplain = 3s;  // time for rank 0's message; 64 hosts start in half a second

int report(const Error& error) {
  log_error(error.what());
  return static_cast<int>(error.status());
}

std::string version_text(bool verbose) {
  std::string text = "dttrain " DTL_VERSION;
  if (!verbose) return text;
  text += "\n" + library_lines(trainer_libraries());
  text.pop_back();  // say() adds the newline
  return text;
}

int train(const Settings& settings) {
  // Must run before any thread starts: threads inherit MXCSR.
  flush_denormals();
  CheckpointSignal::listen();
  Ranks group = Ranks::join();
  try {
    return run_job(settings, group);
  } catch (const Error& error) {
    // The rank that failed has printed the error. When ranks end with kPeerFailed, dtlaunch waits
    // for that message.
    if (group.ended_by_peer()) return static_cast<int>(Exit::kPeerFailed);
    group.abort(error);
    return report(error);
  } catch (const std::exception& error) {
    const Error internal(Exit::kInternal, "internal error", error.what());
    group.abort(internal);
    return report(internal);
  }
}

int run(const std::vector<std::string>& arguments) {
  try {
    if (!arguments.empty() && arguments.front() == kCompleteCommand) {
      std::string answer =
          completion_answer(own_completion(), {arguments.begin() + 1, arguments.end()});
      answer.pop_back();  // say() adds the newline
      say(answer);
      return 0;
    }
    // dtlaunch --dry-run uses this to check a command line before the job.
    if (!arguments.empty() && arguments.front() == "__check") {
      parse_settings({arguments.begin() + 1, arguments.end()});
      return 0;
    }
    // For the tests that compare the man page with the table of options.
    if (!arguments.empty() && arguments.front() == "__options") {
      say(all_rows_text());
      return 0;
    }
    if (!arguments.empty() && arguments.front() == "init") {
      return run_init({arguments.begin() + 1, arguments.end()});
    }
    const Settings settings = parse_settings(arguments);
    if (settings.help) {
      if (environment_rank() == 0) say(help_text());
    } else if (settings.help_all) {
      if (environment_rank() == 0) say(help_all_text());
    } else if (!settings.shell.empty()) {
      if (environment_rank() == 0) say(completion_script("dttrain", settings.shell));
    } else if (settings.version) {
      if (environment_rank() == 0) say(version_text(settings.verbose));
    } else {
      return train(settings);
    }
    return 0;
  } catch (const Error& error) {
    // All ranks have the same command line, so one message is enough. Rank 0 must print it before
    // the other ranks end: a launcher that sees a rank fail kills the rest.
    const bool silent = error.status() == Exit::kUsage && environment_rank() != 0;
    if (!silent) return report(error);
    std::this_thread::sleep_for(kTimeToComplain);
    return static_cast<int>(Exit::kPeerFailed);
  }
}

}  // namespace
}  // namespace dtl::trainer

int main(int argc, char** argv) {
  dtl::set_program_name("dttrain");
  dtl::raise_descriptor_limit();  // a link to every rank
  return dtl::trainer::run({argv + 1, argv + argc});
}
