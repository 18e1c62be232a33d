#include "ring/api/environment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::environment_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

// Sets exactly these of the variables that the library reads.
void set_variables(const Variables& variables) {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "DTRING_ADDRESS", "DTRING_COMM_CPUS",
        "DTLAUNCH_HOST", "DTLAUNCH_JOB", "DTRING_SECRET_FD", "DTRING_SECRET_FILE", "DTRING_WIRE"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

Variables good() {
  return {{"RANK", "0"},
          {"WORLD_SIZE", "2"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", "29500"},
          {"DTRING_SECRET_FD", "999"}};
}

struct Outcome {
  int status;
  std::string error;
};

Outcome create_with(const Variables& variables) {
  set_variables(variables);
  dt_comm* created = nullptr;
  const int status = dt_comm_from_env(&created);
  const CommPtr comm(created);
  return {status, last_error(comm.get())};
}

Variables with(const std::string& name, const std::string& value) {
  Variables variables = good();
  variables[name] = value;
  return variables;
}

Variables without(const std::string& name) {
  Variables variables = good();
  variables.erase(name);
  return variables;
}

Fd secret_descriptor(std::size_t bytes) {
  Fd fd(::memfd_create("secret", MFD_ALLOW_SEALING));
  write_all(fd.get(), std::string(bytes, 's'));
  return fd;
}

TEST(Environment, MissingVariableIsNamed) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    const Outcome outcome = create_with(without(name));
    EXPECT_EQ(outcome.status, DT_E_INVAL);
    EXPECT_THAT(outcome.error, HasSubstr(std::string(name) + ": the variable is not set"));
  }
}

TEST(Environment, BadValueIsNamed) {
  const Variables bad{{"RANK", "2: too large (0 to 1)"},
                      {"WORLD_SIZE", "many: not a whole number (1 to "},
                      {"MASTER_PORT", "70000: too large (1 to 65535)"}};
  for (const auto& [name, text] : bad) {
    const Outcome outcome = create_with(with(name, text.substr(0, text.find(':'))));
    EXPECT_EQ(outcome.status, DT_E_INVAL);
    EXPECT_THAT(outcome.error, HasSubstr(name + "=" + text));
  }
}

TEST(Environment, MissingSecretNamesBothVariables) {
  const Outcome outcome = create_with(without("DTRING_SECRET_FD"));
  EXPECT_EQ(outcome.status, DT_E_AUTH);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("DTRING_SECRET_FD"), HasSubstr("DTRING_SECRET_FILE")));
}

TEST(Environment, BadSecretDescriptorIsNamed) {
  EXPECT_THAT(create_with(with("DTRING_SECRET_FD", "999")).error,
              AllOf(HasSubstr("DTRING_SECRET_FD=999: "), HasSubstr("Bad file descriptor")));
  EXPECT_THAT(create_with(with("DTRING_SECRET_FD", "three")).error,
              HasSubstr("DTRING_SECRET_FD=three: "));
  const Fd fd = secret_descriptor(31);
  EXPECT_THAT(create_with(with("DTRING_SECRET_FD", std::to_string(fd.get()))).error,
              HasSubstr("it has 31 bytes, fewer than 32"));
}

TEST(Environment, SecretFileMustBePrivateAndLongEnough) {
  const std::string path = ::testing::TempDir() + "/secret." + std::to_string(::getpid());
  write_file_atomically(path, std::string(32, 's'));
  Variables variables = without("DTRING_SECRET_FD");
  variables["DTRING_SECRET_FILE"] = path;
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const Outcome open_file = create_with(variables);
  EXPECT_EQ(open_file.status, DT_E_AUTH);
  EXPECT_THAT(open_file.error, AllOf(HasSubstr(path), HasSubstr("chmod 600")));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  set_variables(variables);
  EXPECT_EQ(EnvironmentOptions().get().secret_bytes, 32u);
  ASSERT_EQ(::truncate(path.c_str(), 8), 0);
  EXPECT_THAT(create_with(variables).error, HasSubstr("it has 8 bytes"));
  ::unlink(path.c_str());
}

// The first byte of the secret that a process this many generations below this one finds under the
// descriptor number; 0 if it finds none. The first of them calls `below`.
int secret_found_below(int generations, int number, const std::function<void()>& below) {
  const pid_t child = ::fork();
  if (child == 0) {
    below();
    if (generations > 1) ::_exit(secret_found_below(generations - 1, number, [] {}));
    set_variables(with("DTRING_SECRET_FD", std::to_string(number)));
    try {
      ::_exit(EnvironmentOptions().get().secret[0]);
    } catch (const std::exception&) {
      ::_exit(0);
    }
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// accelerate's launcher and torchrun start ranks with every descriptor closed but 0, 1 and 2.
TEST(Environment, SecretIsFoundInTheProcessAboveWhereThisOneHasLostIt) {
  const Fd fd = secret_descriptor(32);
  const int number = fd.get();
  const auto close_it = [&] { ::close(number); };
  const auto open_another = [&] { ::dup2(Fd(::open("/proc/self/exe", O_RDONLY)).get(), number); };
  EXPECT_EQ(secret_found_below(1, number, close_it), 0);  // not sealed, so not trusted
  ASSERT_EQ(::fcntl(number, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(secret_found_below(1, number, [] {}), 's');
  EXPECT_EQ(secret_found_below(1, number, close_it), 's');
  EXPECT_EQ(secret_found_below(3, number, close_it), 's');
  EXPECT_EQ(secret_found_below(1, number, open_another), 's');
  ASSERT_EQ(::fcntl(number, F_SETFD, FD_CLOEXEC), 0);  // a rank above read it for its own use
  EXPECT_EQ(secret_found_below(1, number, close_it), 0);
}

TEST(Environment, SecretCanBeReadAgainAndIsNotForChildren) {
  const Fd fd = secret_descriptor(32);
  set_variables(with("DTRING_SECRET_FD", std::to_string(fd.get())));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(EnvironmentOptions().get().secret[31], 's');
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST(Environment, WorldOfOneNeedsOnlyRankAndWorldSize) {
  EXPECT_EQ(create_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).status, DT_OK);
}

TEST(Environment, IsCheckedForOneRankAsForMany) {
  const Outcome bad = create_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"DTRING_WIRE", "f8"}});
  EXPECT_EQ(bad.status, DT_E_INVAL);
  EXPECT_THAT(bad.error, AllOf(HasSubstr("DTRING_WIRE"), HasSubstr("f8")));
  dt_options options;
  dt_options_init(&options, sizeof options);
  options.flags = DT_ENVIRONMENT;
  options.wire = DT_WIRE_DEFAULT;
  dt_comm* comm = nullptr;
  EXPECT_EQ(dt_comm_create(&options, &comm), DT_E_INVAL);
  dt_comm_destroy(comm);
  EXPECT_EQ(create_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"DTRING_WIRE", "f16"}}).status,
            DT_OK);
}

TEST(Environment, JobsHaveDifferentNumbers) {
  EXPECT_EQ(job_number(""), 0u);
  EXPECT_EQ(job_number("a1"), job_number("a1"));
  EXPECT_NE(job_number("a1"), job_number("a2"));
}

TEST(Environment, TwoProcessesMeet) {
  const Place place = free_place();
  const Fd secret = secret_descriptor(32);
  std::array<pid_t, 2> pids{};
  for (std::size_t rank = 0; rank < pids.size(); ++rank) {
    pids[rank] = ::fork();
    if (pids[rank] != 0) continue;
    Variables variables{{"RANK", std::to_string(rank)},
                        {"WORLD_SIZE", "2"},
                        {"MASTER_ADDR", place.address},
                        {"MASTER_PORT", std::to_string(place.port)},
                        {"DTLAUNCH_HOST", "node0" + std::to_string(rank)},
                        {"DTLAUNCH_JOB", "job-7"},
                        {"DTRING_SECRET_FD", std::to_string(secret.get())}};
    set_variables(variables);
    dt_comm* comm = nullptr;
    int status = dt_comm_from_env(&comm);
    std::vector<float> values{static_cast<float>(rank + 1)};
    if (status == DT_OK) status = allreduce(comm, values);
    dt_comm_destroy(comm);
    ::_exit(status == DT_OK && values[0] == 3.0f ? 0 : 1);
  }
  for (const pid_t pid : pids) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// The CPUs of this process's "dtring" threads.
std::vector<std::string> cpus_of_communication_threads() {
  std::vector<std::string> lists;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool ours = false;
    for (std::string line; std::getline(status, line);) {
      ours = ours || line == "Name:\tdtring";
      if (ours && line.starts_with("Cpus_allowed_list:\t")) lists.push_back(line.substr(19));
    }
  }
  return lists;
}

TEST(Environment, KeepsTheCommunicationThreadOnItsCpus) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) last = cpu;
  }
  Tuning tuning;
  tuning.cpus = {last};
  run_ranks(2, tuning, {}, [&](dt_comm* comm, int) {
    EXPECT_EQ(barrier(comm), DT_OK);
    const std::vector<std::string> lists = cpus_of_communication_threads();
    EXPECT_EQ(lists.size(), 2u);  // both ranks are threads of this process
    for (const std::string& list : lists) {
      EXPECT_EQ(list, std::to_string(last));
    }
    EXPECT_EQ(barrier(comm), DT_OK);
  });
}

TEST(Environment, GoesOnWhereTheCpusAreNotToBeHad) {
  Tuning tuning;
  tuning.cpus = {65000};
  run_ranks(2, tuning, {}, [](dt_comm* comm, int) { EXPECT_EQ(barrier(comm), DT_OK); });
}

// Whether two ranks on these CPUs have measured which algorithm is fastest.
bool measure_on(const cpu_set_t& cpus) {
  cpu_set_t before;
  EXPECT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(::sched_setaffinity(0, sizeof cpus, &cpus), 0);
  Tuning tuning;
  tuning.tunes = true;
  tuning.node = "one";
  std::atomic<int> measured{0};
  run_ranks(2, tuning, {}, [&](dt_comm* comm, int) {
    EXPECT_EQ(barrier(comm), DT_OK);
    std::array<char, 4096> stats{};
    EXPECT_GT(dt_stats_json(comm, stats.data(), stats.size()), 0);
    if (std::string(stats.data()).find("\"measured\":true") != std::string::npos) ++measured;
    EXPECT_EQ(barrier(comm), DT_OK);
  });
  EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_NE(measured, 1) << "the ranks disagree";
  return measured == 2;
}

TEST(Environment, MeasuresNothingWhereRanksShareACore) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "two ranks always share this machine's core";
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  EXPECT_TRUE(measure_on(all));
  EXPECT_FALSE(measure_on(one));
}

TEST(Environment, RefusesWhatIsNoCpu) {
  const Outcome outcome = create_with(with("DTRING_COMM_CPUS", "0,x"));
  EXPECT_EQ(outcome.status, DT_E_INVAL);
  EXPECT_THAT(outcome.error, HasSubstr("DTRING_COMM_CPUS=0,x: 'x' is not a CPU number"));
}

// Two ranks of dt_comm_create with DT_ENVIRONMENT, in processes with these variables.
void expect_sum_with(const Variables& variables, void (*adjust)(dt_options&)) {
  const Place place = free_place();
  std::vector<pid_t> pids;
  for (int rank = 0; rank < 2; ++rank) {
    pids.push_back(::fork());
    if (pids.back() != 0) continue;
    set_variables(variables);
    dt_options options;
    dt_options_init(&options, sizeof options);
    options.rank = rank;
    options.world = 2;
    options.master_address = place.address.c_str();
    options.master_port = place.port;
    options.flags = DT_ENVIRONMENT;
    options.wire = DT_WIRE_DEFAULT;
    adjust(options);
    dt_comm* comm = nullptr;
    int status = dt_comm_create(&options, &comm);
    // Halfway between two bf16 values: rounded if the environment says so.
    std::vector<float> values{1.0F + 1.0F / 256};
    if (status == DT_OK) status = allreduce(comm, values);
    std::array<char, 4096> stats{};
    if (status == DT_OK && dt_stats_json(comm, stats.data(), stats.size()) < 0) status = 1;
    if (std::string(stats.data()).find("\"wire\":\"bf16\"") == std::string::npos) status = 2;
    dt_comm_destroy(comm);
    ::_exit(status == DT_OK ? 0 : 1);
  }
  for (const pid_t pid : pids) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Environment, FillsInWhatACallerLeftAlone) {
  const Fd secret = secret_descriptor(32);
  expect_sum_with({{"DTRING_SECRET_FD", std::to_string(secret.get())}, {"DTRING_WIRE", "bf16"}},
                  [](dt_options&) {});
}

TEST(Environment, LeavesWhatACallerGave) {
  expect_sum_with({{"DTRING_SECRET_FD", "999"}, {"DTRING_WIRE", "f16"}}, [](dt_options& options) {
    options.secret = test_secret().data();
    options.secret_bytes = static_cast<std::uint32_t>(test_secret().size());
    options.wire = DT_WIRE_BF16;
  });
}

TEST(Environment, OfACallerIsCheckedLikeOurOwn) {
  set_variables({{"DTRING_SECRET_FD", "999"}});
  const Place place = free_place();
  dt_options options = options_for(place, 0, 2);
  options.flags = DT_ENVIRONMENT;
  options.secret = nullptr;
  options.secret_bytes = 0;
  const Joined joined = join_later(options).get();
  EXPECT_EQ(joined.status, DT_E_AUTH);
  EXPECT_THAT(joined.error, HasSubstr("DTRING_SECRET_FD=999: "));
}

TEST(Environment, RefusesFlagsThatNobodyKnows) {
  const Place place = free_place();
  dt_options options = options_for(place, 0, 2);
  options.flags = DT_DETERMINISTIC | 8;
  const Joined joined = join_later(options).get();
  EXPECT_EQ(joined.status, DT_E_INVAL);
  EXPECT_THAT(joined.error, HasSubstr("flags 9: unknown bits"));
}

}  // namespace
}  // namespace dtl::ring::test::environment_test
