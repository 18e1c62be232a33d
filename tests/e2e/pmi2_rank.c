/* A rank that speaks PMI-2 through Slurm's library. It prints what every rank has put, the mapping,
 * and an attribute of its node that the second rank of the node sets later. With "abort" or "leave"
 * it ends between init and finalize. */
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char* what) {
  fprintf(stderr, "%s failed\n", what);
  return 1;
}

int main(int count, char** arguments) {
  int spawned, size, rank, program, length, found = 0;
  char job[256], host[64], key[PMI2_MAX_KEYLEN], value[PMI2_MAX_VALLEN];
  if (PMI2_Init(&spawned, &size, &rank, &program)) return fail("init");
  if (PMI2_Job_GetId(job, sizeof job)) return fail("job id");
  gethostname(host, sizeof host);
  snprintf(key, sizeof key, "card-%d", rank);
  snprintf(value, sizeof value, "%s;%d", host, program);
  if (PMI2_KVS_Put(key, value)) return fail("put");
  if (PMI2_KVS_Fence()) return fail("fence");
  printf("rank %d of %d:", rank, size);
  for (int i = 0; i < size; ++i) {
    snprintf(key, sizeof key, "card-%d", i);
    if (PMI2_KVS_Get(job, PMI2_ID_NULL, key, value, sizeof value, &length)) return fail("get");
    printf(" %s", value);
  }
  if (PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof value, &found) || !found)
    return fail("mapping");
  printf(" %s", value);
  if (count > 1 && strcmp(arguments[1], "abort") == 0 && rank == 1) PMI2_Abort(1, "no data");
  if (count > 1 && strcmp(arguments[1], "leave") == 0 && rank == 1) return 0;
  if (count > 1) {
    PMI2_KVS_Fence();
    return 0;
  }
  if (strcmp(getenv("MPI_LOCALRANKID"), "1") == 0) {
    usleep(200000); /* the other one waits by then */
    if (PMI2_Info_PutNodeAttr("segment", "a;b")) return fail("put attribute");
  }
  if (PMI2_Info_GetNodeAttr("segment", value, sizeof value, &found, 1) || !found)
    return fail("get attribute");
  printf(" %s\n", value);
  return PMI2_Finalize() ? fail("finalize") : 0;
}
