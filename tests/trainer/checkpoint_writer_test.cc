#include "trainer/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/saved_state.h"

namespace dtl::trainer::checkpoint_writer_test {
namespace {

using testing::HasSubstr;

struct Writing {
  TemporaryFolder folder;
  ModelConfig config = tiny_config(ModelType::kDistilBert);
  ParameterLayout layout = layout_parameters(config);
  ThreadPool pool{2, false};
  CheckpointWriter writer{folder.path(), config};

  TrainingState state(std::int64_t step) const {
    const auto seed = static_cast<unsigned>(step);
    return {step, random_parameters<float>(layout, seed),
            random_parameters<float>(layout, seed + 1), random_parameters<float>(layout, seed + 2)};
  }
  TrainingState read(std::int64_t step) const {
    return read_training_state(folder.file("checkpoint-" + std::to_string(step)), layout, {});
  }
};

TrainingState some_state(const ModelConfig& config) {
  const ParameterLayout layout = layout_parameters(config);
  return state_at_start(random_parameters<float>(layout, 1), optimizer_state(layout, {}));
}

TEST(CheckpointWriter, WritesWhatTheStateWasWhenItWasStarted) {
  Writing w;
  TrainingState state = w.state(5);
  const TrainingState copy = state;
  std::promise<void> go;
  CheckpointExtras extras;
  extras.trainer_state = "{\"global_step\": 5}";
  extras.write_more = [&](const std::string& folder) {
    go.get_future().wait();
    write_file_atomically(folder + "/vocab.txt", "[PAD]\n");
  };
  w.writer.start(state, extras, w.pool);
  for (std::vector<float>* values : {&state.parameters, &state.m, &state.v}) {
    std::fill(values->begin(), values->end(), 9.0F);  // training goes on
  }
  EXPECT_EQ(find_last_checkpoint(w.folder.path()), std::nullopt);
  go.set_value();
  w.writer.finish();
  const TrainingState again = w.read(5);
  EXPECT_EQ(again.parameters, copy.parameters);
  EXPECT_EQ(again.m, copy.m);
  EXPECT_EQ(again.v, copy.v);
  EXPECT_EQ(read_file(w.folder.file("checkpoint-5/vocab.txt"), 99), "[PAD]\n");
  EXPECT_EQ(read_file(w.folder.file("checkpoint-5/trainer_state.json"), 99), extras.trainer_state);
}

TEST(CheckpointWriter, HasOneUnderWayAtATimeAndRemovesOldOnes) {
  Writing w;
  CheckpointExtras extras;
  extras.save_total_limit = 2;
  for (const std::int64_t step : {1, 2, 3, 4}) w.writer.start(w.state(step), extras, w.pool);
  w.writer.finish();
  EXPECT_FALSE(std::filesystem::exists(w.folder.file("checkpoint-2")));
  EXPECT_EQ(w.read(3).parameters, w.state(3).parameters);
  EXPECT_EQ(w.read(4).parameters, w.state(4).parameters);
}

// Its notices while it writes two checkpoints of a millisecond or more each.
std::string said_with(std::optional<std::chrono::milliseconds> grace) {
  const TemporaryFolder folder;
  const ModelConfig config = tiny_config(ModelType::kBert);
  ThreadPool pool(1, false);
  CheckpointWriter writer(folder.path(), config, grace);
  CheckpointExtras extras;
  extras.write_more = [](const std::string&) { ::usleep(2000); };
  testing::internal::CaptureStderr();
  for (const std::int64_t step : {1, 2}) {
    TrainingState state = some_state(config);
    state.step = step;
    writer.start(state, extras, pool);
    writer.finish();
  }
  return testing::internal::GetCapturedStderr();
}

TEST(CheckpointWriter, SaysOnceThatWritingTakesLongerThanRanksAreLeftToLive) {
  const std::string said = said_with(std::chrono::milliseconds(0));
  EXPECT_THAT(said, testing::AllOf(HasSubstr("checkpoint-1 took "), HasSubstr("after 0 s"),
                                   HasSubstr("Try: dtlaunch --grace ")));
  EXPECT_THAT(said, testing::Not(HasSubstr("checkpoint-2")));
  EXPECT_EQ(said_with(std::chrono::hours(1)), "");
  EXPECT_EQ(said_with(std::nullopt), "");
}

// The result of ends_too_late() after a checkpoint of 20 ms or more, if told this long ago.
std::string too_late(std::optional<std::chrono::milliseconds> grace,
                     std::chrono::milliseconds told_ago, bool has_written = true,
                     std::optional<std::chrono::milliseconds> told_grace = std::nullopt) {
  const TemporaryFolder folder;
  const ModelConfig config = tiny_config(ModelType::kBert);
  ThreadPool pool(1, false);
  CheckpointWriter writer(folder.path(), config, grace);
  if (has_written) {
    CheckpointExtras extras;
    extras.write_more = [](const std::string&) { ::usleep(20000); };
    writer.start(some_state(config), extras, pool);
  }
  const std::string why =
      writer.ends_too_late(std::chrono::steady_clock::now() - told_ago, told_grace);
  if (has_written) {
    EXPECT_EQ(find_last_checkpoint(folder.path()), folder.file("checkpoint-0"));
  }
  return why;
}

TEST(CheckpointWriter, KnowsWhichCheckpointWouldEndTooLate) {
  using std::chrono::hours, std::chrono::milliseconds;
  EXPECT_THAT(too_late(hours(1), hours(1) - milliseconds(10)),
              testing::MatchesRegex("the last checkpoint took [0-9]+\\.[0-9] s to write, and "
                                    "0\\.0 s are left of 3600 s"));
  EXPECT_THAT(too_late(milliseconds(10), milliseconds(0)), HasSubstr("left of 0.01 s"));
  EXPECT_THAT(too_late(hours(1), milliseconds(0), true, milliseconds(10)),
              HasSubstr("left of 0.01 s"))
      << "a host that goes sooner";
  EXPECT_EQ(too_late(hours(1), milliseconds(0)), "");
  EXPECT_EQ(too_late(std::nullopt, hours(1)), "") << "nobody has said how long";
  EXPECT_EQ(too_late(hours(1), hours(2), false), "") << "nobody knows how long one takes";
}

TEST(CheckpointWriter, DoesNotPredictFromAFailedWrite) {
  const TemporaryFolder folder;
  const ModelConfig config = tiny_config(ModelType::kBert);
  ThreadPool pool(1, false);
  CheckpointWriter writer(folder.path(), config, std::chrono::hours(1));
  CheckpointExtras extras;
  extras.write_more = [](const std::string&) { throw std::runtime_error("no memory"); };
  writer.start(some_state(config), extras, pool);
  EXPECT_THROW(writer.finish(), Error);
  const auto long_ago = std::chrono::steady_clock::now() - std::chrono::hours(2);
  EXPECT_EQ(writer.ends_too_late(long_ago, std::nullopt), "");
}

TEST(CheckpointWriter, FinishesInItsDestructor) {
  const TemporaryFolder folder;
  const ModelConfig config = tiny_config(ModelType::kBert);
  ThreadPool pool(1, false);
  {
    CheckpointWriter writer(folder.path(), config);
    writer.start(some_state(config), {}, pool);
  }
  EXPECT_EQ(find_last_checkpoint(folder.path()), folder.file("checkpoint-0"));
}

// Writes one checkpoint after another until it is killed.
[[noreturn]] void write_forever(const std::string& output, const ModelConfig& config,
                                std::int64_t step) {
  ThreadPool pool(1, false);
  CheckpointWriter writer(output, config);
  const ParameterLayout layout = layout_parameters(config);
  CheckpointExtras extras;
  extras.save_total_limit = 1;
  for (;; ++step) {
    const auto seed = static_cast<unsigned>(step);
    writer.start(
        {step, random_parameters<float>(layout, seed), random_parameters<float>(layout, seed + 1),
         random_parameters<float>(layout, seed + 2)},
        extras, pool);
  }
}

TEST(CheckpointWriter, MayBeKilledAtAnyMoment) {
  const TemporaryFolder folder;
  const ModelConfig config = tiny_config(ModelType::kBert);
  const ParameterLayout layout = layout_parameters(config);
  std::int64_t last_step = 0;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = ::fork();
    if (child == 0) write_forever(folder.path(), config, last_step + 1);
    // A new one has to come; then any moment is as good as any other.
    while (checkpoint_step(find_last_checkpoint(folder.path()).value_or("")).value_or(0) <=
           last_step) {
      ::usleep(1000);
    }
    ::usleep(static_cast<useconds_t>(1000 * (7 * round % 12)));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    remove_partial_checkpoints(folder.path());
    const std::string last = *find_last_checkpoint(folder.path());
    const TrainingState state = read_training_state(last, layout, {});
    EXPECT_GT(state.step, last_step);
    last_step = state.step;
    const auto seed = static_cast<unsigned>(last_step);
    EXPECT_EQ(state.parameters, random_parameters<float>(layout, seed));
    EXPECT_EQ(state.v, random_parameters<float>(layout, seed + 2));
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      EXPECT_TRUE(checkpoint_step(entry.path())) << entry.path();
    }
  }
}

// Limits file sizes, so that write() fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_action_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_action_);
  }

 private:
  rlimit old_{};
  void (*old_action_)(int);
};

TEST(CheckpointWriter, TellsOfAFullDiskAtTheNextCallAndLeavesNothing) {
  Writing w;
  w.writer.start(w.state(1), {}, w.pool);
  w.writer.finish();
  {
    const FileSizeLimit limit(20'000);
    w.writer.start(w.state(2), {}, w.pool);
    try {
      w.writer.finish();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kCannotWrite);
      EXPECT_THAT(error.what(), HasSubstr(w.folder.file("checkpoint-2.partial-")));
      EXPECT_THAT(error.what(), HasSubstr("/model.safetensors: cannot write: File too large"));
    }
    w.writer.start(w.state(3), {}, w.pool);
    EXPECT_THROW(w.writer.start(w.state(4), {}, w.pool), Error);
  }
  EXPECT_EQ(find_last_checkpoint(w.folder.path()), w.folder.file("checkpoint-1"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(w.folder.path()), {}), 1);
  w.writer.start(w.state(5), {}, w.pool);
  w.writer.finish();
  EXPECT_EQ(w.read(5).m, w.state(5).m);
}

TEST(CheckpointWriter, NamesTheCheckpointWhoseOtherFilesFail) {
  Writing w;
  CheckpointExtras extras;
  extras.write_more = [](const std::string&) { throw std::runtime_error("no memory"); };
  w.writer.start(w.state(6), extras, w.pool);
  try {
    w.writer.finish();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("checkpoint-6"));
    EXPECT_THAT(error.what(), HasSubstr("no memory"));
  }
}

}  // namespace
}  // namespace dtl::trainer::checkpoint_writer_test
