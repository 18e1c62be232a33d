// What a communicator of many ranks costs, with all ranks as processes of this machine.
// usage: ring_scale meet RANKS [--share]       CPU time to connect, and descriptors
//        ring_scale ping RANKS [BYTES...]      dt_send and dt_recv between ranks 0 and 1
// Hosts are not needed: without --share, `meet` connects the ranks by TCP over the loopback
// interface, as if each had its own host. bench/README.md has the formulas.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "ring/dtring.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostRanks = 4096;
constexpr int kMostSizes = 8;
constexpr int kWarmUps = 200, kRoundTrips = 2000;

struct Result {  // of one rank, in memory that all processes share
  double meet_cpu_s, sum_cpu_s, meet_s;
  int descriptors;
  std::array<double, kMostSizes> one_way_us;
};

struct Place {  // where rank 0 listens
  int listener = -1, port = 0;
};

dt_comm* comm = nullptr;

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "ring_scale: %s: %s\n", what, why);
  std::exit(1);
}

void check(int status) {
  if (status == DT_OK) return;
  char text[1024] = "";
  dt_last_error(comm, text, sizeof text);
  fail(dt_strerror(status), text);
}

void wait_for(int status, dt_work work) {
  check(status);
  check(dt_wait(comm, work, -1));
}

double cpu_seconds() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int count_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) fail("/proc/self/fd", std::strerror(errno));
  int count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

Place listen_for_ranks() {
  Place place;
  place.listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(place.listener, any, size) != 0 || ::listen(place.listener, SOMAXCONN) != 0 ||
      ::getsockname(place.listener, any, &size) != 0) {
    fail("127.0.0.1", std::strerror(errno));
  }
  place.port = ntohs(address.sin_port);
  return place;
}

void connect(const Place& place, int rank, int ranks) {
  static const std::array<std::uint8_t, 32> kSecret = {7};  // not a secret: a benchmark's key
  dt_options options;
  check(dt_options_init(&options, sizeof options));
  options.rank = rank;
  options.world = ranks;
  options.master_address = options.address = "127.0.0.1";
  options.master_port = place.port;
  options.secret = kSecret.data();
  options.secret_bytes = kSecret.size();
  options.flags = DT_ENVIRONMENT;  // DTRING_SHARE
  options.listener = rank == 0 ? place.listener : -1;
  check(dt_comm_create(&options, &comm));
}

void sum_once(int ranks) {
  float value = static_cast<float>(dt_comm_rank(comm) + 1);
  dt_work work = 0;
  const int status =
      dt_allreduce(comm, &value, &value, 1, DT_F32, DT_SUM, DT_WIRE_DEFAULT, 0, &work);
  wait_for(status, work);
  if (value != static_cast<float>(ranks) * static_cast<float>(ranks + 1) / 2) {
    fail("the first sum", "wrong");
  }
}

void barrier() {
  dt_work work = 0;
  const int status = dt_barrier(comm, 0, &work);
  wait_for(status, work);
}

void move(bool sends, std::vector<std::uint8_t>& bytes) {
  dt_work work = 0;
  const int peer = 1 - dt_comm_rank(comm);
  const int status = sends ? dt_send(comm, bytes.data(), bytes.size(), DT_U8, peer, 0, &work)
                           : dt_recv(comm, bytes.data(), bytes.size(), DT_U8, peer, 0, &work);
  wait_for(status, work);
}

// Rank 1 sends back what it gets, after adding one to the first byte.
double ping(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  std::vector<std::uint8_t> expected = bytes;
  std::vector<double> times;
  const bool begins = dt_comm_rank(comm) == 0;
  for (int i = 0; i < kWarmUps + kRoundTrips; ++i) {
    const auto start = Clock::now();
    move(begins, bytes);
    if (!begins) ++bytes[0];
    move(!begins, bytes);
    if (i >= kWarmUps) times.push_back(seconds_since(start) * 1e6 / 2);
    if (!begins) continue;
    ++expected[0];
    if (bytes != expected) fail("what came back", "wrong");
  }
  std::nth_element(times.begin(), times.begin() + kRoundTrips / 2, times.end());
  return times[kRoundTrips / 2];
}

void keep_on_cpu(int rank) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<unsigned>(rank), &cpus);
  (void)::sched_setaffinity(0, sizeof cpus, &cpus);  // on a machine with one CPU, both share it
}

// The ranks that take no part read from the pipe, so that they use no CPU meanwhile.
void run_rank(int rank, int ranks, const Place& place, const std::vector<std::size_t>& sizes,
              const int (&pipe)[2], Result& result) {
  if (!sizes.empty() && rank < 2) keep_on_cpu(rank);
  const int before = count_descriptors();
  const double cpu = cpu_seconds();
  const auto start = Clock::now();
  connect(place, rank, ranks);
  result.meet_s = seconds_since(start);
  const double met = cpu_seconds();
  result.meet_cpu_s = met - cpu;
  sum_once(ranks);
  result.sum_cpu_s = cpu_seconds() - met;
  result.descriptors = count_descriptors() - before;
  if (!sizes.empty()) {
    if (rank < 2) {
      for (std::size_t i = 0; i < sizes.size(); ++i) result.one_way_us[i] = ping(sizes[i]);
    }
    ::close(pipe[1]);
    char byte = 0;
    if (rank >= 2) (void)!::read(pipe[0], &byte, 1);  // until ranks 0 and 1 have closed it
  }
  barrier();
  check(dt_comm_destroy(comm));
}

void print_machine() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, model = "unknown CPU";
  while (std::getline(info, line)) {
    if (line.rfind("model name", 0) == 0) model = line.substr(line.find(':') + 2);
  }
  utsname system;
  ::uname(&system);
  double load = 0;
  (void)::getloadavg(&load, 1);
  std::printf("%ld x %s, Linux %s, load %.1f; commit ", ::sysconf(_SC_NPROCESSORS_ONLN),
              model.c_str(), system.release, load);
  std::fflush(stdout);
  if (std::system("git describe --always --dirty 2>/dev/null || echo unknown") != 0) std::exit(1);
}

void print(const Result* results, int ranks, const std::vector<std::size_t>& sizes) {
  double meet = 0, sum = 0, longest = 0;
  std::vector<int> descriptors;
  for (int rank = 0; rank < ranks; ++rank) {
    meet += results[rank].meet_cpu_s;
    sum += results[rank].sum_cpu_s;
    longest = std::max(longest, results[rank].meet_s);
    descriptors.push_back(results[rank].descriptors);
  }
  std::sort(descriptors.begin(), descriptors.end());
  std::printf("%d ranks: %.3f CPU seconds to meet (%.3f s), %.3f for the first sum\n", ranks, meet,
              longest, sum);
  std::printf("descriptors of a rank: median %d, most %d\n", descriptors[descriptors.size() / 2],
              descriptors.back());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::printf("%zu bytes one way: %.2f us\n", sizes[i], results[0].one_way_us[i]);
  }
}

struct Choices {
  int ranks = 0;
  bool shares = false;
  std::vector<std::size_t> sizes;  // empty: only meets
};

Choices parse(int argc, char** argv) {
  Choices choices;
  const std::string_view what = argc > 2 ? argv[1] : "";
  choices.ranks = argc > 2 ? std::atoi(argv[2]) : 0;
  choices.shares = what == "ping";
  for (int i = 3; i < argc; ++i) {
    if (what == "meet" && std::string_view(argv[i]) == "--share") {
      choices.shares = true;
    } else {
      choices.sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    }
  }
  if (what == "ping" && choices.sizes.empty()) choices.sizes = {8, 128 << 10};
  const auto& sizes = choices.sizes;
  const bool is_right = what == "ping" || (what == "meet" && sizes.empty());
  if (!is_right || choices.ranks < 2 || choices.ranks > kMostRanks || sizes.size() > kMostSizes ||
      std::count(sizes.begin(), sizes.end(), 0u) > 0) {
    std::fprintf(stderr, "usage: ring_scale meet RANKS [--share] | ping RANKS [BYTES...]\n");
    std::exit(64);
  }
  return choices;
}

}  // namespace

int main(int argc, char** argv) {
  const Choices choices = parse(argc, argv);
  ::setenv("DTRING_SHARE", choices.shares ? "1" : "0", 1);
  print_machine();
  auto* results =
      static_cast<Result*>(::mmap(nullptr, static_cast<std::size_t>(choices.ranks) * sizeof(Result),
                                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int pipe[2];
  if (results == MAP_FAILED || ::pipe(pipe) != 0) fail("cannot begin", std::strerror(errno));
  const Place place = listen_for_ranks();
  for (int rank = 0; rank < choices.ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid < 0) fail("fork", std::strerror(errno));
    if (pid > 0) continue;
    run_rank(rank, choices.ranks, place, choices.sizes, pipe, results[rank]);
    std::_Exit(0);
  }
  ::close(pipe[1]);
  bool is_ok = true;
  for (int status = 0; ::wait(&status) > 0;) is_ok = is_ok && status == 0;
  if (!is_ok) fail("a rank", "failed");
  print(results, choices.ranks, choices.sizes);
  return 0;
}
