/* The same as allreduce.cc over MPI: BYTES:REPEATS:TURNS... -> "BYTES MICROSECONDS". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/gate.h"

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static float input(int rank, size_t i) {
  return (float)(((unsigned)i + (unsigned)rank) % 1000);
}

static double median_time(float* values, size_t count, int repeats, int rank, int world) {
  double* times = malloc(sizeof(double) * (size_t)repeats);
  if (times == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = -2; i < repeats; ++i) { /* two to warm up */
    for (size_t k = 0; k < count; ++k) values[k] = input(rank, k);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (i >= 0) times[i] = MPI_Wtime() - start;
    for (size_t k = 0; k < count; ++k) {
      float sum = 0;
      for (int r = 0; r < world; ++r) sum += input(r, k);
      if (values[k] != sum) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  qsort(times, (size_t)repeats, sizeof(double), compare);
  const double median = times[repeats / 2];
  free(times);
  return median * 1e6;
}

static void take_turns(size_t bytes, int repeats, int turns, int rank, int world) {
  static uint32_t taken = 0;
  float* values = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (values == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < turns; ++i, ++taken) {
    gate_turn(taken);
    const double time = median_time(values, bytes / sizeof(float), repeats, rank, world);
    if (rank != 0) continue;
    printf("%zu %.2f\n", bytes, time);
    gate_turn_over(taken);
  }
  munmap(values, bytes);
}

int main(int argc, char** argv) {
  int rank = 0, world = 0;
  const long before = gate_resident();
  gate_wait();
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (rank == 0 && getenv("BENCH_GATE") != NULL) printf("connect %.1f\n", gate_elapsed_us());
  const long connected = gate_resident();
  for (int i = 1; i < argc; ++i) {
    unsigned long long bytes = 0;
    int repeats = 0, turns = 0;
    if (sscanf(argv[i], "%llu:%d:%d", &bytes, &repeats, &turns) != 3) MPI_Abort(MPI_COMM_WORLD, 64);
    take_turns(bytes, repeats, turns, rank, world);
  }
  fflush(stdout);
  gate_result(before, connected, gate_resident());
  return MPI_Finalize();
}
