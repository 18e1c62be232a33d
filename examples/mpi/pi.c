// Computes pi as the integral of 4 / (1 + x*x) from 0 to 1. The ranks share the steps.
#include <mpi.h>
#include <stdio.h>

static const long kSteps = 10000000;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(host, &length);

  const double width = 1.0 / (double)kSteps;
  double mine = 0, pi = 0;
  for (long step = rank; step < kSteps; step += size) {
    const double x = ((double)step + 0.5) * width;
    mine += width * 4 / (1 + x * x);
  }
  MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  printf("rank %d of %d on %s adds %.8f\n", rank, size, host, mine);
  if (rank == 0) printf("pi is %.8f\n", pi);
  MPI_Finalize();
  return 0;
}
