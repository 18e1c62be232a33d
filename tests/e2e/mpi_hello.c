// A small MPI program that says what it sees, or ends in a way of its own.
//
// mpi_hello [ACTION RANK]     that rank does this after MPI_Init:
//     abort       MPI_Abort(MPI_COMM_WORLD, 7)
//     leave       ends without MPI_Finalize, with status 0
//     stay        prints its pid, and waits for a message that nobody sends; so do the others
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As taskset writes them: "0,2".
static void print_cpus(void) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  const char* before = "";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) continue;
    printf("%s%d", before, cpu);
    before = ",";
  }
}

static void act(const char* action) {
  if (strcmp(action, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(action, "leave") == 0) _exit(0);
}

static void stay(int rank) {
  printf("rank %d has pid %d\n", rank, (int)getpid());
  fflush(stdout);
  int nothing = 0;
  MPI_Recv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void report(int rank) {
  int size = 0, local = 0, sum = 0, found = 0, length = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int one = rank + 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &local);
  int* program = NULL;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &program, &found);
  char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_processor_name(name, &length);
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n")] = '\0';
  printf("rank %d of %d on %s: sum %d, %d on its host, program %d, cpus ", rank, size, name, sum,
         local, found ? *program : -1);
  print_cpus();
  printf(", %s\n", version);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2 && strcmp(argv[1], "stay") == 0) stay(rank);
  if (argc > 2 && atoi(argv[2]) == rank) act(argv[1]);
  report(rank);
  MPI_Finalize();
  return 0;
}
