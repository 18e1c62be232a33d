/* dtring.h: collectives for data-parallel training over TCP. C ABI, documented in dtring(3).
 *
 * A communicator joins `world` ranks. Every call that moves data is asynchronous: it enqueues the
 * operation, in the same order on every rank, and returns a work id; buffers belong to the library
 * until dt_wait or dt_test has reported that id. One communication thread per communicator owns all
 * sockets. Calls on one communicator may come from several threads. No call aborts the process,
 * throws, or prints. After the first error a communicator only answers that error and can be
 * destroyed.
 */
#ifndef DTRING_H
#define DTRING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DT_ABI 1
#define DT_API __attribute__((visibility("default")))

typedef struct dt_comm dt_comm;
typedef uint64_t dt_work; /* 0 is never a valid id */

enum dt_status {
  DT_OK = 0,
  DT_PENDING = 1,
  DT_E_INVAL = -1, /* an argument is wrong; nothing was enqueued */
  DT_E_TIMEOUT = -2,
  DT_E_PEER = -3,     /* a peer was lost; dt_last_error names its rank and host */
  DT_E_MISMATCH = -4, /* ranks called different operations, counts, types or roots */
  DT_E_ABORTED = -5,  /* dt_comm_abort, here or on a peer */
  DT_E_AUTH = -6,     /* no secret, or a peer with another one */
  DT_E_SYS = -7,
  DT_E_NOMEM = -8,
  DT_E_VERSION = -9
};

enum dt_dtype { DT_U8 = 0, DT_I32 = 1, DT_I64 = 2, DT_F32 = 3, DT_F64 = 4 };
enum dt_op { DT_SUM = 0 };

/* Sized for evolution: set size by dt_options_init. */
typedef struct dt_options {
  uint32_t size;
  int32_t rank, world;
  const char* master_address; /* rank 0 listens there; numeric or a name */
  int32_t master_port;
  const char* host_name;        /* this rank's host, for messages; NULL: gethostname */
  const uint8_t* secret;        /* the job's secret; required when world > 1 */
  uint32_t secret_bytes;        /* 32 */
  uint64_t job;                 /* distinguishes jobs and epochs in the handshake */
  int32_t connect_timeout_ms;   /* the whole rendezvous; default 60,000 */
  int32_t operation_timeout_ms; /* one operation; default 600,000 */
  const char* address; /* numeric, of this host: where this rank listens for its neighbours; NULL:
                          where it reached rank 0 from. Rank 0 listens on master_address */
} dt_options;

DT_API uint32_t dt_abi_version(void);
DT_API int dt_options_init(dt_options* options, uint32_t size);

/* Joins; blocks until all ranks have connected and proved the secret, or the time is up. *comm is
 * set also on failure (destroy it), so that dt_last_error can say why; NULL only for DT_E_NOMEM and
 * DT_E_INVAL. */
DT_API int dt_comm_create(const dt_options* options, dt_comm** comm);
/* From RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, DTRING_ADDRESS, DTRING_COMM_CPUS, DTLAUNCH_HOST,
 * DTLAUNCH_JOB and the secret on descriptor DTRING_SECRET_FD, else in the file DTRING_SECRET_FILE
 * (mode 0600, at least 32 bytes). */
DT_API int dt_comm_from_env(dt_comm** comm);
DT_API int dt_comm_rank(const dt_comm* comm);
DT_API int dt_comm_size(const dt_comm* comm);
/* Fails every pending and later operation on all ranks with DT_E_ABORTED and this text. */
DT_API int dt_comm_abort(dt_comm* comm, const char* why);
DT_API int dt_comm_destroy(dt_comm* comm);

/* in == out is allowed (and is the fast case). count elements; tag is the caller's label, checked
 * to be equal on all ranks and named in errors. */
DT_API int dt_allreduce(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int op,
                        uint64_t tag, dt_work* work);
/* out holds world * count_per_rank elements, in order of rank. */
DT_API int dt_allgather(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank,
                        int dtype, uint64_t tag, dt_work* work);
/* counts[world] elements of each rank; out holds their sum, in order of rank. */
DT_API int dt_allgatherv(dt_comm* comm, const void* in, void* out, const uint64_t* counts,
                         int dtype, uint64_t tag, dt_work* work);
DT_API int dt_broadcast(dt_comm* comm, void* data, uint64_t count, int dtype, int root,
                        uint64_t tag, dt_work* work);
DT_API int dt_barrier(dt_comm* comm, uint64_t tag, dt_work* work);

/* DT_OK, DT_PENDING (the time is up, the operation goes on) or the error. timeout_ms < 0: forever
 * (bounded by operation_timeout_ms). An id is released when it was reported as done or failed. */
DT_API int dt_wait(dt_comm* comm, dt_work work, int32_t timeout_ms);
DT_API int dt_test(dt_comm* comm, dt_work work);

DT_API const char* dt_strerror(int status);
/* The full text of the communicator's first error: operation, peer's rank and host, cause. */
DT_API int dt_last_error(dt_comm* comm, char* text, uint32_t bytes);

#ifdef __cplusplus
}
#endif
#endif
