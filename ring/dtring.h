/* dtring.h: collectives for data-parallel training over TCP and shared memory. C ABI, documented in
 * dtring(3).
 *
 * A communicator joins `world` ranks. Every call that moves data is asynchronous: it enqueues the
 * operation and returns a work id. Every rank must make these calls in the same order (dt_send and
 * dt_recv: both ranks of the pair). Buffers belong to the library until dt_wait or dt_test has
 * reported the id. One communication thread per communicator moves the data, or a caller inside
 * dt_wait while that thread is idle. Calls on one communicator may come from several threads. No
 * call aborts the process, throws, or prints. After the first error a communicator only answers
 * that error and can be destroyed.
 */
#ifndef DTRING_H
#define DTRING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DT_ABI 2
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
  DT_E_AUTH = -6,     /* no secret, a peer with another secret, or altered bytes */
  DT_E_SYS = -7,
  DT_E_NOMEM = -8,
  DT_E_VERSION = -9
};

/* DT_F16 is IEEE binary16, DT_BF16 the upper half of a float; both are summed in float and rounded
 * once. DT_BOOL is one byte, 0 or not; results are 0 or 1. */
enum dt_dtype {
  DT_U8 = 0,
  DT_I32 = 1,
  DT_I64 = 2,
  DT_F32 = 3,
  DT_F64 = 4,
  DT_I8 = 5,
  DT_F16 = 6,
  DT_BF16 = 7,
  DT_BOOL = 8
};

/* Integers wrap around. DT_AVG divides the sum by the number of ranks (integers: towards zero) and
 * is not for DT_BOOL. For DT_BOOL DT_SUM and DT_MAX are "or", DT_PROD and DT_MIN "and". The bit
 * operations are for integers and DT_BOOL. DT_MIN and DT_MAX of a NaN and a number are NaN. */
enum dt_op {
  DT_SUM = 0,
  DT_AVG = 1,
  DT_MIN = 2,
  DT_MAX = 3,
  DT_PROD = 4,
  DT_BAND = 5,
  DT_BOR = 6,
  DT_BXOR = 7
};

/* The format of DT_F32 values sent between hosts in a DT_SUM or DT_AVG. Rounds to nearest, ties to
 * even; sums in float; all ranks get the same bits. Other types are always sent unchanged. */
enum dt_wire {
  DT_WIRE_DEFAULT = 0, /* the communicator's: dt_options, or DTRING_WIRE */
  DT_WIRE_EXACT = 1,
  DT_WIRE_BF16 = 2,
  DT_WIRE_F16 = 3
};

enum dt_flags {
  DT_DETERMINISTIC = 1, /* every element is summed in order of rank, independent of the tensor's
                           size, its neighbours and the hosts */
  DT_ENVIRONMENT = 2,   /* fields unchanged since dt_options_init come from the variables of
                           dt_comm_from_env, except rank, world and master; wire too, if it is
                           DT_WIRE_DEFAULT */
  DT_ENCRYPT = 4        /* encrypt traffic between hosts (TLS 1.3, keys derived from the secret);
                           if ranks differ in this flag, all get DT_E_MISMATCH */
};

/* Later versions may add fields: set size with dt_options_init. */
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
  const char* address; /* numeric, of this host: this rank listens there for its peers; NULL: the
                          address that reached rank 0. Rank 0 listens on master_address */
  /* Since ABI 2. Where all ranks need the same value, rank 0's is used. */
  int32_t warn_timeout_ms; /* warn of an operation that waits this long; default 30,000 */
  int32_t streams;         /* TCP connections to each peer for large operations; 0: automatic */
  int32_t wire;            /* a dt_wire; default DT_WIRE_EXACT */
  uint32_t flags;          /* dt_flags */
  const char* allreduce;   /* "oneshot:0-32K;direct:32K-4M;ring:4M-max"; NULL: measured */
  /* Called with each warning, a line without newline, by the thread that moves the data; NULL:
     warnings are only counted. Must not call this library. */
  void (*warn)(const char* text, void* context);
  void* warn_context;
  /* Programs built before it existed pass a smaller size, and need not be rebuilt. */
  int32_t listener; /* rank 0: a TCP socket that is already listening for the others; the library
                       duplicates it, makes it non-blocking, and uses it instead of listening on
                       master_address and master_port. Negative: none */
} dt_options;

DT_API uint32_t dt_abi_version(void);
DT_API int dt_options_init(dt_options* options, uint32_t size);

/* Joins; blocks until all ranks have connected and proved the secret, or connect_timeout_ms is
 * over. Also sets *comm on failure (destroy it), so that dt_last_error can say why; *comm is NULL
 * only if memory runs out, or options is NULL or has an unknown size. */
DT_API int dt_comm_create(const dt_options* options, dt_comm** comm);
/* From RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, DTRING_ADDRESS, DTRING_COMM_CPUS, DTLAUNCH_HOST,
 * DTLAUNCH_JOB and the secret on descriptor DTRING_SECRET_FD, else in the file DTRING_SECRET_FILE
 * (mode 0600, at least 32 bytes); DTRING_ALLREDUCE, DTRING_WIRE, DTRING_DETERMINISTIC,
 * DTRING_ENCRYPT, DTRING_STREAMS, DTRING_TIMEOUT and DTRING_WARN (both in seconds). Warnings go to
 * standard error. */
DT_API int dt_comm_from_env(dt_comm** comm);
/* Collective: ranks with the same color >= 0 form a communicator, in order of key, then of rank; a
 * rank with a negative color takes part and gets NULL. Blocks. The parent stays usable. */
DT_API int dt_comm_split(dt_comm* comm, int color, int key, dt_comm** part);
DT_API int dt_comm_rank(const dt_comm* comm);
DT_API int dt_comm_size(const dt_comm* comm);
/* Fails every pending and later operation on all ranks with DT_E_ABORTED and this text. */
DT_API int dt_comm_abort(dt_comm* comm, const char* why);
DT_API int dt_comm_destroy(dt_comm* comm);

/* in == out is allowed (and is the fast case). count elements; tag is the caller's label, checked
 * to be equal on all ranks and named in errors. */
DT_API int dt_allreduce(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int op,
                        int wire, uint64_t tag, dt_work* work);
/* in holds world * count_per_rank elements; rank r gets count_per_rank combined ones from element
 * r * count_per_rank. out == in + rank * count_per_rank elements is allowed; otherwise in does not
 * change. */
DT_API int dt_reduce_scatter(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank,
                             int dtype, int op, int wire, uint64_t tag, dt_work* work);
/* Only the root uses out. */
DT_API int dt_reduce(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int op,
                     int root, uint64_t tag, dt_work* work);
/* out holds world * count_per_rank elements, in order of rank. */
DT_API int dt_allgather(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank,
                        int dtype, uint64_t tag, dt_work* work);
/* Rank r sends counts[r] elements; out holds those of all ranks, in order of rank. */
DT_API int dt_allgatherv(dt_comm* comm, const void* in, void* out, const uint64_t* counts,
                         int dtype, uint64_t tag, dt_work* work);
DT_API int dt_broadcast(dt_comm* comm, void* data, uint64_t count, int dtype, int root,
                        uint64_t tag, dt_work* work);
/* Only the root uses out, of world * count_per_rank elements; in a scatter only it uses in. */
DT_API int dt_gather(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                     int root, uint64_t tag, dt_work* work);
DT_API int dt_scatter(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                      int root, uint64_t tag, dt_work* work);
/* Block r of in goes to rank r; block r of out comes from rank r. in and out do not overlap. */
DT_API int dt_alltoall(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                       uint64_t tag, dt_work* work);
/* send_counts[r] elements go to rank r, receive_counts[r] come from it; blocks without gaps. */
DT_API int dt_alltoallv(dt_comm* comm, const void* in, const uint64_t* send_counts, void* out,
                        const uint64_t* receive_counts, int dtype, uint64_t tag, dt_work* work);
/* Between two ranks, in the order in which both call them; to == own rank is DT_E_INVAL. */
DT_API int dt_send(dt_comm* comm, const void* in, uint64_t count, int dtype, int to, uint64_t tag,
                   dt_work* work);
DT_API int dt_recv(dt_comm* comm, void* out, uint64_t count, int dtype, int from, uint64_t tag,
                   dt_work* work);
/* Waits for a message for which no dt_recv was called: from rank *from, or from any rank if *from
 * is negative. Sets *from, *count, *dtype and *tag to the message's; dt_recv with them receives it.
 * Returns DT_OK, DT_PENDING on timeout, or the error. timeout_ms < 0: operation_timeout_ms. Finds
 * the messages of one rank in the order of its dt_send. Only one thread may call it, and the same
 * thread must call dt_recv. */
DT_API int dt_probe(dt_comm* comm, int32_t* from, uint64_t* count, int32_t* dtype, uint64_t* tag,
                    int32_t timeout_ms);
DT_API int dt_barrier(dt_comm* comm, uint64_t tag, dt_work* work);

/* Returns DT_OK, DT_PENDING on timeout (the operation continues), or the error. timeout_ms < 0: no
 * limit except operation_timeout_ms. Reporting an id as done or failed releases it. */
DT_API int dt_wait(dt_comm* comm, dt_work work, int32_t timeout_ms);
DT_API int dt_test(dt_comm* comm, dt_work work);
/* Reports up to max operations that are complete or failed and releases their ids: *count of them,
 * with works[i] and statuses[i]. Returns DT_OK with at least one, DT_PENDING on timeout. For one
 * thread that waits for all; it may also report ids for which other threads call dt_wait. */
DT_API int dt_wait_any(dt_comm* comm, dt_work* works, int32_t* statuses, uint32_t max,
                       uint32_t* count, int32_t timeout_ms);
/* A descriptor that is readable while dt_wait_any would return at once. Only poll it. The first
 * call opens it; negative: an error. */
DT_API int dt_completion_fd(dt_comm* comm);

/* Page-aligned memory that ranks of the same host read, and write results into, without a copy.
 * NULL if there is none. Freed by dt_free, or with the communicator. After a failed operation the
 * content of its result is undefined, and may change until the communicator is destroyed. */
DT_API void* dt_alloc(dt_comm* comm, uint64_t bytes);
DT_API int dt_free(dt_comm* comm, void* memory);

/* Describes this communicator as JSON: hosts, streams, algorithms, bytes moved. Truncates the text
 * at bytes - 1; returns the whole length, or a negative error. */
DT_API int dt_stats_json(dt_comm* comm, char* text, uint32_t bytes);

/* Shows how far the training of this process is to dtlaunch: `dtlaunch top`, --metrics-file and the
 * job's report. Call it after each step, on each rank or only on rank 0; it needs no communicator,
 * and costs some stores. step: of the optimizer, done. total_steps, tokens (of all ranks, since
 * this process began): 0 if unknown. loss: NaN if unknown. DT_E_SYS: the memory for it cannot be
 * had. */
DT_API int dt_progress(uint64_t step, uint64_t total_steps, uint64_t tokens, double loss);

DT_API const char* dt_strerror(int status);
/* The full text of the communicator's first error: operation, peer's rank and host, cause. */
DT_API int dt_last_error(dt_comm* comm, char* text, uint32_t bytes);

#ifdef __cplusplus
}
#endif
#endif
