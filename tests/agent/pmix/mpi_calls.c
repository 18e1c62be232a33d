// What MPI programs do, for pmix_test.py: mpi_calls sum|abort|leave|...
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check_sum(MPI_Comm comm, const char* what) {
  int one = 1, sum = 0, members = 0;
  MPI_Comm_size(comm, &members);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != members) {
    printf("%s: %d of %d\n", what, sum, members);
    exit(9);
  }
}

static void sum(void) {
  int total = 0, length = 0, on_node = 0, *app = NULL, found = 0;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm node, half;
  MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  check_sum(half, "split");
  MPI_Get_processor_name(name, &length);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &found);
  printf("rank %d of %d: sum %d, %d on its node, program %d\n", rank, size, total, on_node,
         found ? *app : -1);
}

// Communicators of some ranks only, on one node and on both, often.
static void groups(void) {
  MPI_Group world, some;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int step = 1; step <= 2; ++step) {
    int members[64], count = 0;
    for (int each = 0; each < size; each += step) members[count++] = each;
    MPI_Group_incl(world, count, members, &some);
    if (rank % step == 0) {
      for (int again = 0; again < 3; ++again) {
        MPI_Comm comm;
        MPI_Comm_create_group(MPI_COMM_WORLD, some, again, &comm);
        check_sum(comm, "MPI_Comm_create_group");
        MPI_Comm_free(&comm);
      }
    }
    MPI_Group_free(&some);
  }
  if (rank < 2) {
    MPI_Comm comm;
    const int both[] = {0, 1};
    MPI_Group_incl(world, 2, both, &some);
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &comm);
    check_sum(comm, "MPI_Comm_create_group");
    MPI_Comm_free(&comm);
    MPI_Group_free(&some);
  }
  printf("rank %d: groups done\n", rank);
}

#if MPI_VERSION >= 4 || defined(MPI_SESSION_NULL)
// Open MPI 5.0.11 crashes in a second session after the first has ended.
static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  int sets = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  for (int again = 0; again < 2; ++again) {
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    check_sum(comm, "MPI_Comm_create_from_group");
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  printf("rank %d: %d sets\n", rank, sets);
}
#endif

static void spawn(void) {
  MPI_Comm children;
  int problem[1];
  char* program = "true";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int result = MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                    &children, problem);
  printf("rank %d: spawn %s\n", rank, result == MPI_SUCCESS ? "worked" : "failed");
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "sum";
  if (strcmp(what, "sessions") == 0) {
#if MPI_VERSION >= 4 || defined(MPI_SESSION_NULL)
    sessions();
    return 0;
#else
    return 77;
#endif
  }
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "sum") == 0) sum();
  if (strcmp(what, "groups") == 0) groups();
  if (strcmp(what, "spawn") == 0) spawn();
  if (strcmp(what, "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(what, "leave") == 0 && rank == size - 1) _Exit(0);
  if (strcmp(what, "abort") == 0 || strcmp(what, "leave") == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
