/* How allreduce.py rules the ranks of a benchmark. C, since the MPI programs are;
 * allreduce_torch.py does the same.
 *
 * The folder $BENCH_GATE, if set, starts them together and learns how much memory each takes. A
 * rank leaves a file ready.* there and waits for the file `go`, whose time is when the clock
 * started; at its end it leaves a file result.* with KiB.
 *
 * $BENCH_TURNS, if set, is CONTESTANT:CONTESTANTS:FILE and lets programs that run side by side
 * measure one at a time. The file holds two numbers: the turn that is on, which allreduce.py sets,
 * and the last that is over, which rank 0 of whoever had it sets. Both are futexes: who waits must
 * not wake now and then beside those who measure. */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void gate_path(char* path, size_t bytes, const char* name) {
  snprintf(path, bytes, "%s/%s", getenv("BENCH_GATE"), name);
}

/* A file of its own for this rank; whoever opens it first has it. */
static inline FILE* gate_file(const char* pattern) {
  char path[4096];
  gate_path(path, sizeof path, pattern);
  const int fd = mkstemp(path);
  return fd < 0 ? NULL : fdopen(fd, "w");
}

/* Resident memory in KiB. */
static inline long gate_resident(void) {
  char line[256];
  long kib = -1;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "VmRSS:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  }
  if (file != NULL) fclose(file);
  return kib;
}

static inline void gate_wait(void) {
  if (getenv("BENCH_GATE") == NULL) return;
  FILE* ready = gate_file("ready.XXXXXX");
  if (ready != NULL) fclose(ready);
  char path[4096];
  gate_path(path, sizeof path, "go");
  const struct timespec pause = {0, 1000000};
  while (access(path, F_OK) != 0) nanosleep(&pause, NULL);
}

/* Microseconds since `go` appeared; all hosts have one clock. */
static inline double gate_elapsed_us(void) {
  char path[4096];
  struct stat status;
  struct timespec now;
  if (getenv("BENCH_GATE") == NULL) return 0;
  gate_path(path, sizeof path, "go");
  if (stat(path, &status) != 0) return 0;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)(now.tv_sec - status.st_mtim.tv_sec) * 1e6 +
         (double)(now.tv_nsec - status.st_mtim.tv_nsec) / 1e3;
}

/* The two numbers; NULL without $BENCH_TURNS. `own`: those of the caller's `count`-th turn. */
static inline uint32_t* gate_turns(uint32_t count, uint32_t* own) {
  static __thread uint32_t* numbers = NULL; /* core_pump has two threads */
  unsigned contestant = 0, contestants = 0;
  int at = 0;
  const char* setting = getenv("BENCH_TURNS");
  if (setting == NULL) return NULL;
  if (sscanf(setting, "%u:%u:%n", &contestant, &contestants, &at) != 2 || at == 0) exit(64);
  *own = count * contestants + contestant + 1;
  if (numbers != NULL) return numbers;
  const int fd = open(setting + at, O_RDWR | O_CLOEXEC);
  void* data = mmap(NULL, 2 * sizeof *numbers, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || data == MAP_FAILED) exit(1);
  close(fd);
  return numbers = (uint32_t*)data;
}

/* Waits for the count-th turn of this program, from 0 on. */
static inline void gate_turn(uint32_t count) {
  uint32_t own = 0, now = 0;
  uint32_t* numbers = gate_turns(count, &own);
  while (numbers != NULL && (now = __atomic_load_n(&numbers[0], __ATOMIC_ACQUIRE)) != own) {
    syscall(SYS_futex, &numbers[0], FUTEX_WAIT, now, NULL, NULL, 0);
  }
}

static inline void gate_turn_over(uint32_t count) {
  uint32_t own = 0;
  uint32_t* numbers = gate_turns(count, &own);
  if (numbers == NULL) return;
  __atomic_store_n(&numbers[1], own, __ATOMIC_RELEASE);
  syscall(SYS_futex, &numbers[1], FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Growth by connecting, and by all the sums after that, without the caller's buffer. */
static inline void gate_result(long before_kib, long connected_kib, long end_kib) {
  if (getenv("BENCH_GATE") == NULL) return;
  FILE* file = gate_file("result.XXXXXX");
  if (file == NULL) return;
  fprintf(file, "%ld %ld\n", connected_kib - before_kib, end_kib - connected_kib);
  fclose(file);
}

#endif
