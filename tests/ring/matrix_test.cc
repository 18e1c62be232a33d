// Every type, operation and algorithm, over TCP and within nodes. The values give the same bits in
// every order of combining, so results are compared exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ring/arithmetic/reduce.h"
#include "tests/ring/ring_support.h"
#include "tests/support/sanitized.h"

namespace dtl::ring::test::matrix_test {
namespace {

// per_node 0: every rank has its own node.
struct Layout {
  int world, per_node;
};
std::string name_of(const ::testing::TestParamInfo<Layout>& info) {
  return std::to_string(info.param.world) + "RanksBy" + std::to_string(info.param.per_node);
}

void run(const Layout& layout, const std::function<void(dt_options&)>& adjust, const Body& body) {
  if (layout.per_node == 0) return run_ranks(layout.world, {}, adjust, body);
  run_nodes(layout.world, layout.per_node, adjust, body);
}

// Writes a value as an element of a type that holds it exactly.
void put(int dtype, std::byte* at, double value) {
  const auto store = [at](auto element) { std::memcpy(at, &element, sizeof element); };
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DT_U8:
    case DT_BOOL:
      return store(static_cast<std::uint8_t>(value));
    case DT_I8:
      return store(static_cast<std::int8_t>(value));
    case DT_I32:
      return store(static_cast<std::int32_t>(value));
    case DT_I64:
      return store(static_cast<std::int64_t>(value));
    case DT_F32:
      return store(single);
    case DT_F64:
      return store(value);
    case DT_BF16:
      return to_wire(Wire::kBf16, at, &single, 1);
    case DT_F16:
      return to_wire(Wire::kF16, at, &single, 1);
  }
}

constexpr std::size_t kPeriod = 11;  // divides no message or part size

// The rank's input for element i. It repeats after kPeriod elements.
double input(int dtype, int op, int rank, std::size_t i, int world) {
  const auto mix = static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 3) % kPeriod);
  if (dtype == DT_BOOL) return mix % 3 == 0 ? 1 : 0;
  switch (op) {
    case DT_SUM:
      return mix % 5;
    case DT_AVG:
      return (mix % 3) * world;  // the average is whole
    case DT_PROD:
      return mix == 0 ? 2 : 1;
    case DT_MIN:
    case DT_MAX:
      return mix;
    default:
      return 1 << (mix % 7);
  }
}

double expected(int dtype, int op, std::size_t i, int world) {
  double result = input(dtype, op, 0, i, world);
  for (int rank = 1; rank < world; ++rank) {
    const double value = input(dtype, op, rank, i, world);
    const auto bits = static_cast<int>(result), more = static_cast<int>(value);
    if (op == DT_SUM || op == DT_AVG) result += value;
    if (op == DT_PROD) result *= value;
    if (op == DT_MIN) result = std::min(result, value);
    if (op == DT_MAX) result = std::max(result, value);
    if (op == DT_BAND) result = bits & more;
    if (op == DT_BOR) result = bits | more;
    if (op == DT_BXOR) result = bits ^ more;
  }
  if (dtype == DT_BOOL && op != DT_BXOR) return result > 0 ? 1 : 0;
  return op == DT_AVG ? result / world : result;
}

// `value` repeats after kPeriod elements, so compute only these.
std::vector<std::byte> elements(int dtype, std::size_t count,
                                const std::function<double(std::size_t)>& value) {
  const std::size_t element = element_bytes(dtype);
  std::vector<std::byte> bytes(count * element);
  for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) {
    put(dtype, bytes.data() + i * element, value(i));
  }
  for (std::size_t done = kPeriod; done < count;) {  // whole periods, doubling each time
    const std::size_t more = std::min(done, count - done);
    std::memcpy(bytes.data() + done * element, bytes.data(), more * element);
    done += more;
  }
  return bytes;
}

// Without optimisation, == takes longer than the collectives.
bool same_bytes(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

constexpr int kTypes[] = {DT_U8, DT_I8, DT_I32, DT_I64, DT_F32, DT_F64, DT_F16, DT_BF16, DT_BOOL};
constexpr int kOps[] = {DT_SUM, DT_AVG, DT_MIN, DT_MAX, DT_PROD, DT_BAND, DT_BOR, DT_BXOR};

// Under a sanitizer, each type with one operation, and each operation with one type:
// ring_kernels_test combines by every pair there.
void for_each_combination(const std::function<void(int dtype, int op)>& body) {
  for (const int dtype : kTypes) {
    for (const int op : kOps) {
      const bool chosen = dtype == DT_I32 || op == DT_SUM || (dtype == DT_BOOL && op == DT_BOR);
      if (can_combine(dtype, op) && (chosen || !dtl::test::sanitized())) body(dtype, op);
    }
  }
}

bool says(dt_comm* comm, const std::string& fact) {
  std::array<char, 2048> json{};
  EXPECT_GT(dt_stats_json(comm, json.data(), json.size()), 0);
  return std::string(json.data()).find(fact) != std::string::npos;
}

class Matrix : public ::testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Of, Matrix,
                         ::testing::Values(Layout{1, 0}, Layout{2, 0}, Layout{3, 0}, Layout{5, 0},
                                           Layout{2, 2}, Layout{4, 2}, Layout{4, 4}, Layout{5, 2},
                                           Layout{6, 3}, Layout{9, 3}),
                         name_of);

TEST_P(Matrix, AllreduceOfEveryTypeByEveryOperationAndAlgorithm) {
  const Layout layout = GetParam();
  const int world = layout.world;
  for (const char* algorithm :
       {"oneshot", "doubling", "leaders", "halving", "groups", "direct", "ring"}) {
    SCOPED_TRACE(algorithm);
    const auto adjust = [&](dt_options& options) {
      options.allreduce = algorithm;
      options.streams = 2;
    };
    run(layout, adjust, [&](dt_comm* comm, int rank) {
      for_each_combination([&](int dtype, int op) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{17}, std::size_t{9001}}) {
          auto values = elements(dtype, count,
                                 [&](std::size_t i) { return input(dtype, op, rank, i, world); });
          dt_work work = 0;
          const int status = dt_allreduce(comm, values.data(), values.data(), count, dtype, op,
                                          DT_WIRE_DEFAULT, 1, &work);
          ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
          const auto wanted =
              elements(dtype, count, [&](std::size_t i) { return expected(dtype, op, i, world); });
          EXPECT_TRUE(same_bytes(values, wanted))
              << dtype_name(dtype) << " " << op_name(op) << " " << count << ", rank " << rank;
        }
      });
    });
  }
}

TEST_P(Matrix, LongAllreducesOfEveryAlgorithm) {
  const Layout layout = GetParam();
  const int world = layout.world;
  for (const char* algorithm : {"direct", "halving", "groups", "ring"}) {
    SCOPED_TRACE(algorithm);
    const auto adjust = [&](dt_options& options) {
      options.allreduce = algorithm;
      options.streams = 3;
    };
    run(layout, adjust, [&](dt_comm* comm, int rank) {
      EXPECT_TRUE(
          says(comm, std::string("\"shared_memory\":") + (layout.per_node > 1 ? "true" : "false")));
      for (const std::size_t count : {std::size_t{300007}, std::size_t{2500001}}) {
        const auto in = elements(
            DT_F32, count, [&](std::size_t i) { return input(DT_F32, DT_SUM, rank, i, world); });
        std::vector<std::byte> out(in.size());
        dt_work work = 0;
        const int status = dt_allreduce(comm, in.data(), out.data(), count, DT_F32, DT_SUM,
                                        DT_WIRE_DEFAULT, 1, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        const auto sums = elements(
            DT_F32, count, [&](std::size_t i) { return expected(DT_F32, DT_SUM, i, world); });
        EXPECT_TRUE(same_bytes(out, sums)) << count << ", rank " << rank;
      }
    });
  }
}

TEST_P(Matrix, ReduceAndReduceScatterOfEveryTypeAndOperation) {
  const Layout layout = GetParam();
  const int world = layout.world;
  run(layout, {}, [&](dt_comm* comm, int rank) {
    const auto ranks = static_cast<std::size_t>(world), me = static_cast<std::size_t>(rank);
    for_each_combination([&](int dtype, int op) {
      for (const std::size_t each : {std::size_t{1}, std::size_t{5003}}) {
        const std::size_t count = each * ranks, element = element_bytes(dtype);
        const auto in =
            elements(dtype, count, [&](std::size_t i) { return input(dtype, op, rank, i, world); });
        const auto all =
            elements(dtype, count, [&](std::size_t i) { return expected(dtype, op, i, world); });
        std::vector<std::byte> out(each * element);
        dt_work work = 0;
        int status = dt_reduce_scatter(comm, in.data(), out.data(), each, dtype, op,
                                       DT_WIRE_DEFAULT, 1, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        EXPECT_EQ(std::memcmp(out.data(), all.data() + me * out.size(), out.size()), 0)
            << dtype_name(dtype) << " " << op_name(op) << ", rank " << rank;
        const int root = static_cast<int>(each % ranks);
        std::vector<std::byte> sum(rank == root ? in.size() : 0);
        status = dt_reduce(comm, in.data(), sum.empty() ? nullptr : sum.data(), count, dtype, op,
                           root, 1, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        EXPECT_TRUE(same_bytes(sum, rank == root ? all : std::vector<std::byte>()))
            << dtype_name(dtype);
      }
    });
  });
}

float number(int rank, std::size_t i) {
  return static_cast<float>(rank * 1000) + static_cast<float>(i % 997);
}

TEST_P(Matrix, GatherScatterAndAlltoallMoveBlocks) {
  const Layout layout = GetParam();
  run(layout, {}, [&](dt_comm* comm, int rank) {
    const auto world = static_cast<std::size_t>(layout.world), me = static_cast<std::size_t>(rank);
    for (const std::size_t each : {std::size_t{0}, std::size_t{1}, std::size_t{70001}}) {
      std::vector<float> in(each * world), out(each * world, -1);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = number(rank, i);
      for (int root = 0; root < layout.world; ++root) {
        dt_work work = 0;
        int status = dt_gather(comm, in.data(), out.data(), each, DT_F32, root, 2, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        for (std::size_t i = 0; rank == root && i < out.size(); ++i) {
          ASSERT_EQ(out[i], number(static_cast<int>(i / each), i % each)) << i;
        }
        std::vector<float> part(each, -1);
        status = dt_scatter(comm, in.data(), part.data(), each, DT_F32, root, 2, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        for (std::size_t i = 0; i < each; ++i) ASSERT_EQ(part[i], number(root, me * each + i));
      }
      dt_work work = 0;
      const int status = dt_alltoall(comm, in.data(), out.data(), each, DT_F32, 3, &work);
      ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], number(static_cast<int>(i / each), me * each + i % each)) << i;
      }
    }
  });
}

TEST_P(Matrix, AlltoallvTakesDifferentAndZeroCounts) {
  const Layout layout = GetParam();
  run(layout, {}, [&](dt_comm* comm, int rank) {
    const auto count = [](int from, int to) {
      return static_cast<std::uint64_t>((from * 5 + to * 3) % 4) * 4001;
    };
    std::vector<std::uint64_t> sent, received;
    std::vector<float> in, wanted;
    for (int other = 0; other < layout.world; ++other) {
      sent.push_back(count(rank, other));
      received.push_back(count(other, rank));
      for (std::uint64_t i = 0; i < sent.back(); ++i) in.push_back(number(rank * 16 + other, i));
      for (std::uint64_t i = 0; i < received.back(); ++i) {
        wanted.push_back(number(other * 16 + rank, i));
      }
    }
    std::vector<float> out(wanted.size(), -1);
    dt_work work = 0;
    const int status =
        dt_alltoallv(comm, in.data(), sent.data(), out.data(), received.data(), DT_F32, 4, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
    EXPECT_TRUE(out == wanted) << "rank " << rank;
  });
}

TEST_P(Matrix, PairsExchangeInOrderBesideCollectives) {
  const Layout layout = GetParam();
  if (layout.world == 1) return;
  run(layout, {}, [&](dt_comm* comm, int rank) {
    const int next = (rank + 1) % layout.world, previous = (rank + layout.world - 1) % layout.world;
    std::vector<std::vector<float>> in(5), out(5);
    std::vector<dt_work> works;
    for (std::size_t k = 0; k < in.size(); ++k) {
      in[k].assign(k * 30011, number(rank, k));
      out[k].assign(k * 30011, -1);
      works.emplace_back();
      ASSERT_EQ(dt_recv(comm, out[k].data(), out[k].size(), DT_F32, previous, k, &works.back()),
                DT_OK);
    }
    std::vector<float> sum(70000, 1.0F);
    ASSERT_EQ(allreduce(comm, sum), DT_OK);  // not blocked by waiting receives
    for (std::size_t k = 0; k < in.size(); ++k) {
      works.emplace_back();
      ASSERT_EQ(dt_send(comm, in[k].data(), in[k].size(), DT_F32, next, k, &works.back()), DT_OK);
    }
    for (const dt_work work : works) ASSERT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
    for (std::size_t k = 0; k < in.size(); ++k) {
      EXPECT_EQ(out[k], std::vector<float>(k * 30011, number(previous, k)));
    }
  });
}

}  // namespace
}  // namespace dtl::ring::test::matrix_test
