/* dtring.h is a C header and libdtring a C library: a world of one, every call. */
#include "ring/dtring.h"

#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static int all_operations(dt_comm* comm) {
  float in[4] = {1, 2, 3, 4}, out[4] = {0};
  const uint64_t counts[1] = {4};
  dt_work work = 0;
  CHECK(dt_allreduce(comm, in, out, 4, DT_F32, DT_SUM, DT_WIRE_DEFAULT, 1, &work) == DT_OK);
  CHECK(work != 0 && dt_wait(comm, work, -1) == DT_OK);
  CHECK(memcmp(in, out, sizeof in) == 0);
  CHECK(dt_allgather(comm, in, out, 4, DT_F32, 2, &work) == DT_OK);
  CHECK(dt_wait(comm, work, 1000) == DT_OK);
  CHECK(dt_allgatherv(comm, in, out, counts, DT_F32, 3, &work) == DT_OK);
  CHECK(dt_test(comm, work) == DT_OK);
  CHECK(dt_broadcast(comm, in, 4, DT_F32, 0, 4, &work) == DT_OK);
  CHECK(dt_wait(comm, work, -1) == DT_OK);
  CHECK(dt_barrier(comm, 5, &work) == DT_OK);
  CHECK(dt_wait(comm, work, -1) == DT_OK);
  return 0;
}

int main(void) {
  dt_options options;
  dt_comm* comm = NULL;
  char text[256];
  dt_work work = 0;
  CHECK(dt_abi_version() == DT_ABI);
  CHECK(dt_options_init(&options, 3) == DT_E_INVAL);
  CHECK(dt_options_init(&options, sizeof options) == DT_OK);
  CHECK(dt_comm_create(&options, &comm) == DT_OK);
  CHECK(dt_comm_rank(comm) == 0 && dt_comm_size(comm) == 1);
  CHECK(all_operations(comm) == 0);
  CHECK(dt_last_error(comm, text, sizeof text) == DT_OK && text[0] == '\0');
  CHECK(dt_comm_abort(comm, "enough") == DT_OK);
  CHECK(dt_barrier(comm, 0, &work) == DT_E_ABORTED);
  CHECK(dt_last_error(comm, text, sizeof text) == DT_OK && strstr(text, "enough") != NULL);
  CHECK(strlen(dt_strerror(DT_E_PEER)) > 0);
  CHECK(dt_comm_destroy(comm) == DT_OK);
  CHECK(dt_comm_destroy(NULL) == DT_OK);
  return 0;
}
