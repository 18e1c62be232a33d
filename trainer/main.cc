// dttrain: fine-tunes encoders for text classification, question answering and embeddings, alone or
// as one of many ranks. Reads the command line, joins the ranks, and turns Errors into messages and
// exit statuses. job/fine_tune.cc does the run's work.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/error.h"
#include "base/log.h"
#include "base/machine/descriptor_limit.h"
#include "base/text.h"
#include "trainer/completion.h"
#include "trainer/encode/encode_texts.h"
#include "trainer/init/init_model.h"
#include "trainer/job/fine_tune.h"
#include "trainer/job/one_architecture.h"
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
#if defined(__x86_64__)
  // Bits of MXCSR (Intel SDM, volume 1, 10.2.3).
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlushToZero = 1 << 24;  // of FPCR, for operands and results
  std::uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | kFlushToZero));
#endif
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

// dtlaunch asks whether a line would be taken, before the job: __check N, N times a key of the job
// file with its place and its text, and the line. The parts of an error are the answer.
int check_line(const std::vector<std::string>& arguments) {
  const std::size_t count =
      arguments.size() > 1
          ? static_cast<std::size_t>(parse_integer(arguments[1], 0, 1 << 20).value_or(0))
          : 0;
  std::size_t at = 2;
  std::vector<OptionPlace> places;
  for (; places.size() < count && at + 3 <= arguments.size(); at += 3) {
    places.push_back({arguments[at], arguments[at + 1], arguments[at + 2]});
  }
  try {
    parse_settings({arguments.begin() + static_cast<std::ptrdiff_t>(std::min(at, arguments.size())),
                    arguments.end()},
                   places);
  } catch (const Error& error) {
    const std::string parts[] = {std::to_string(static_cast<int>(error.status())),
                                 error.attempted(), error.reason(), error.hint()};
    for (const std::string& part : parts) std::fwrite(part.c_str(), 1, part.size() + 1, stdout);
  }
  return 0;
}

// Joins the ranks for work(group).
template <class Work>
int with_ranks(const Work& work) {
  // Must run before any thread starts: threads inherit this mode.
  flush_denormals();
  Ranks group = Ranks::join();
  try {
    require_one_architecture(group);
    return work(group);
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

int train(const Settings& settings) {
  CheckpointSignal::listen();
  return with_ranks([&](Ranks& group) { return run_job(settings, group); });
}

int encode(const std::vector<std::string>& arguments) {
  const EncodeSettings settings = parse_encode(arguments);
  if (!settings.help) return with_ranks([&](Ranks& group) { return run_encode(settings, group); });
  if (environment_rank() == 0) say(encode_help());
  return 0;
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
    if (!arguments.empty() && arguments.front() == "__check") return check_line(arguments);
    // For the tests that compare the man page with the table of options.
    if (!arguments.empty() && arguments.front() == "__options") {
      say(all_rows_text());
      return 0;
    }
    if (!arguments.empty() && arguments.front() == "init") {
      return run_init({arguments.begin() + 1, arguments.end()});
    }
    if (!arguments.empty() && arguments.front() == "encode") {
      return encode({arguments.begin() + 1, arguments.end()});
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
