// Ranks that call different operations: all report both calls, within a second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::mismatch_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
constexpr auto kPromise = std::chrono::milliseconds(1000);  // dtring(3)

using Call = std::function<int(dt_comm*, float* in, float* out, dt_work*)>;

struct Pair {
  const char* name;
  Call usual, other;  // rank 1 calls `other`
  const char *usual_text, *other_text;
};

// A rank that needs no data from others may finish before the news arrives. It reports it from its
// next operation.
void expect_named(const Pair& calls, const std::function<void(const Body&)>& run_all) {
  std::barrier done(3);
  run_all([&](dt_comm* comm, int rank) {
    std::vector<float> in(60000), out(60000);
    dt_work work = 0;
    const auto start = Clock::now();
    const int status = (rank == 1 ? calls.other : calls.usual)(comm, in.data(), out.data(), &work);
    const int ended = wait_for(comm, status, work);
    EXPECT_TRUE(ended == DT_OK || ended == DT_E_MISMATCH) << dt_strerror(ended);
    EXPECT_EQ(barrier(comm), DT_E_MISMATCH) << "later operations answer the first error";
    EXPECT_LT(Clock::now() - start, kPromise);
    EXPECT_THAT(last_error(comm),
                AllOf(HasSubstr(std::string("rank 1 (node01) calls ") + calls.other_text),
                      HasSubstr(std::string(" calls ") + calls.usual_text)));
    done.arrive_and_wait();
  });
}

Call allreduce_of(std::uint64_t count, int op, int wire) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_allreduce(comm, in, out, count, DT_F32, op, wire, 3, work);
  };
}
Call reduce_scatter_of(std::uint64_t count, int op, int wire = DT_WIRE_EXACT) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_reduce_scatter(comm, in, out, count, DT_F32, op, wire, 3, work);
  };
}
Call reduce_to(int root, std::uint64_t count = 300) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_reduce(comm, in, out, count, DT_F32, DT_SUM, root, 3, work);
  };
}
Call gather_to(int root, std::uint64_t count = 300) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_gather(comm, in, out, count, DT_F32, root, 3, work);
  };
}
Call scatter_from(int root, std::uint64_t count = 300) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_scatter(comm, in, out, count, DT_F32, root, 3, work);
  };
}
Call alltoall_of(std::uint64_t count) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_alltoall(comm, in, out, count, DT_F32, 3, work);
  };
}
Call alltoallv_of(std::array<std::uint64_t, 3> sent, std::array<std::uint64_t, 3> received) {
  return [=](dt_comm* comm, float* in, float* out, dt_work* work) {
    return dt_alltoallv(comm, in, sent.data(), out, received.data(), DT_F32, 3, work);
  };
}
Call just_barrier() {
  return [](dt_comm* comm, float*, float*, dt_work* work) { return dt_barrier(comm, 3, work); };
}

const Pair kPairs[] = {
    {"AllreduceWire", allreduce_of(50000, DT_SUM, DT_WIRE_EXACT),
     allreduce_of(50000, DT_SUM, DT_WIRE_BF16), "allreduce of 50000 f32", "allreduce of 50000 f32"},
    {"AllreduceOp", allreduce_of(10, DT_SUM, DT_WIRE_EXACT),
     allreduce_of(10, DT_MAX, DT_WIRE_EXACT), "allreduce of 10 f32, sum",
     "allreduce of 10 f32, max"},
    {"AllreduceShortAndLong", allreduce_of(10, DT_SUM, DT_WIRE_EXACT),
     allreduce_of(60000, DT_SUM, DT_WIRE_EXACT), "allreduce of 10 f32", "allreduce of 60000 f32"},
    {"ReduceScatterCount", reduce_scatter_of(300, DT_SUM), reduce_scatter_of(301, DT_SUM),
     "reduce_scatter of 300 f32", "reduce_scatter of 301 f32"},
    {"ReduceScatterOp", reduce_scatter_of(300, DT_SUM), reduce_scatter_of(300, DT_AVG),
     "reduce_scatter of 300 f32, sum", "reduce_scatter of 300 f32, avg"},
    {"ReduceScatterWire", reduce_scatter_of(20000, DT_SUM),
     reduce_scatter_of(20000, DT_SUM, DT_WIRE_F16), "reduce_scatter of 20000 f32",
     "reduce_scatter of 20000 f32"},
    {"ReduceRoot", reduce_to(0), reduce_to(2), "reduce of 300 f32", "reduce of 300 f32"},
    {"ReduceCount", reduce_to(0), reduce_to(0, 20000), "reduce of 300 f32", "reduce of 20000 f32"},
    {"GatherRoot", gather_to(0), gather_to(2), "gather of 300 f32", "gather of 300 f32"},
    {"GatherLongRoot", gather_to(0, 20000), gather_to(2, 20000), "gather of 20000 f32",
     "gather of 20000 f32"},
    {"GatherCount", gather_to(0), gather_to(0, 299), "gather of 300 f32", "gather of 299 f32"},
    {"ScatterRoot", scatter_from(0), scatter_from(2), "scatter of 300 f32", "scatter of 300 f32"},
    {"ScatterCount", scatter_from(0), scatter_from(0, 299), "scatter of 300 f32",
     "scatter of 299 f32"},
    {"AlltoallCount", alltoall_of(300), alltoall_of(20000), "alltoall of 300 f32",
     "alltoall of 20000 f32"},
    {"AlltoallvCount", alltoallv_of({6, 6, 6}, {6, 6, 6}), alltoallv_of({6, 6, 6}, {6, 6, 9}),
     "alltoall of", "alltoall of"},
    {"GatherAndBarrier", gather_to(0), just_barrier(), "gather of 300 f32", "barrier"},
    {"ReduceAndAllreduce", reduce_to(2), allreduce_of(300, DT_SUM, DT_WIRE_EXACT),
     "reduce of 300 f32", "allreduce of 300 f32"},
};

// A short timeout, so that a failure is not a hang.
void impatient(dt_options& options) {
  options.operation_timeout_ms = 3000;
}

class Mismatched : public ::testing::TestWithParam<Pair> {};
INSTANTIATE_TEST_SUITE_P(Of, Mismatched, ::testing::ValuesIn(kPairs),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Mismatched, CallsAreNamedOnAllRanks) {
  expect_named(GetParam(), [](const Body& body) { run_ranks(3, {}, impatient, body); });
}

TEST_P(Mismatched, CallsAreNamedOnAllRanksOfOneNode) {
  expect_named(GetParam(), [](const Body& body) { run_nodes(3, 3, impatient, body); });
}

TEST(Mismatch, OfSendAndReceiveIsNamedOnBothRanks) {
  std::barrier done(2);
  run_ranks(2, {}, impatient, [&](dt_comm* comm, int rank) {
    std::vector<float> values(500);
    dt_work work = 0;
    const int status = rank == 0 ? dt_send(comm, values.data(), 500, DT_F32, 1, 8, &work)
                                 : dt_recv(comm, values.data(), 400, DT_F32, 0, 8, &work);
    const int ended = wait_for(comm, status, work);
    EXPECT_TRUE(ended == DT_E_MISMATCH || (rank == 0 && ended == DT_OK)) << dt_strerror(ended);
    EXPECT_EQ(barrier(comm), DT_E_MISMATCH);
    EXPECT_THAT(last_error(comm),
                AllOf(HasSubstr("of 500 f32"), HasSubstr("of 400 f32"),
                      HasSubstr("rank 0 (node00)"), HasSubstr("rank 1 (node01)")));
    done.arrive_and_wait();
  });
}

}  // namespace
}  // namespace dtl::ring::test::mismatch_test
