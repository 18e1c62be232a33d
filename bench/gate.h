/* How allreduce.py starts the ranks of a benchmark together and learns how much memory each takes:
 * the folder $BENCH_GATE, if set. A rank leaves a file ready.* there and waits for the file `go`,
 * whose time is when the clock started; at its end it leaves a file result.* with KiB. C, since the
 * MPI programs are; allreduce_gloo.py does the same. */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Growth by connecting, and by all the sums after that, without the caller's buffer. */
static inline void gate_result(long before_kib, long connected_kib, long end_kib) {
  if (getenv("BENCH_GATE") == NULL) return;
  FILE* file = gate_file("result.XXXXXX");
  if (file == NULL) return;
  fprintf(file, "%ld %ld\n", connected_kib - before_kib, end_kib - connected_kib);
  fclose(file);
}

#endif
