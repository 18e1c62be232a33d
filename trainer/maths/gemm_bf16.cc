// Turns matrix products into oneDNN primitives and caches them, since oneDNN compiles code for each
// shape. onednn.h wraps the library. gemm.cc rounds the operands.
#include "trainer/maths/gemm_bf16.h"

#include <array>
#include <cstdlib>
#include <map>

#include "trainer/maths/onednn.h"

namespace dtl::trainer {
namespace {

// Everything that a compiled product depends on: sizes, strides (negative if transposed), beta.
using Shape = std::array<std::int64_t, 7>;

// A product of one shape, compiled by oneDNN, for the thread that made it.
class Product {
 public:
  Product(const Shape& shape, Op a_op, Op b_op) {
    const auto& [m, n, k, a_stride, b_stride, c_stride, accumulate] = shape;
    const OneDnn& f = onednn();
    // The sign of a stride only marks transposed shapes in the key.
    const Layout layout_a(m, k, dnnl_bf16, std::abs(a_stride), a_op);
    const Layout layout_b(k, n, dnnl_bf16, std::abs(b_stride), b_op);
    const Layout layout_c(m, n, dnnl_f32, c_stride, Op::kNone);
    const dnnl_primitive_desc_t plan = plan_product(layout_a, layout_b, layout_c, accumulate != 0);
    expect(f.primitive_create(&primitive_, plan));
    expect(f.plan_destroy(plan));
    const std::array layouts = {&layout_a, &layout_b, &layout_c};
    // Without data: run() sets the pointers, so one primitive serves all matrices of its shape.
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      expect(f.memory_create(&memories_[i], layouts[i]->get(), f.engine, DNNL_MEMORY_NONE));
    }
  }
  ~Product() {
    const OneDnn& f = onednn();
    for (const dnnl_memory_t memory : memories_) f.memory_destroy(memory);
    f.primitive_destroy(primitive_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void run(dnnl_stream_t stream, const Bf16* a, const Bf16* b, float* c) const {
    const OneDnn& f = onednn();
    expect(f.memory_point(memories_[0], const_cast<Bf16*>(a)));  // oneDNN only reads them
    expect(f.memory_point(memories_[1], const_cast<Bf16*>(b)));
    expect(f.memory_point(memories_[2], c));
    const std::array<dnnl_exec_arg_t, 3> arguments = {{{DNNL_ARG_SRC, memories_[0]},
                                                       {DNNL_ARG_WEIGHTS, memories_[1]},
                                                       {DNNL_ARG_DST, memories_[2]}}};
    expect(f.primitive_execute(primitive_, stream, static_cast<int>(arguments.size()),
                               arguments.data()));
  }

 private:
  dnnl_primitive_t primitive_ = nullptr;
  std::array<dnnl_memory_t, 3> memories_ = {};
};

// One thread's stream and compiled products. Sequence lengths vary, so the number of shapes is
// limited; clearing the cache costs a few milliseconds.
class Products {
 public:
  Products() {
    const OneDnn& f = onednn();
    f.omp_threads(1);  // keeps oneDNN's loops on the calling thread
    expect(f.stream_create(&stream_, f.engine, dnnl_stream_default_flags));
  }
  ~Products() { onednn().stream_destroy(stream_); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void run(const Shape& shape, Op a_op, Op b_op, const Bf16* a, const Bf16* b, float* c) {
    constexpr std::size_t kMost = 4096;
    if (products_.size() >= kMost) products_.clear();
    products_.try_emplace(shape, shape, a_op, b_op).first->second.run(stream_, a, b, c);
  }

 private:
  dnnl_stream_t stream_ = nullptr;
  std::map<Shape, Product> products_;
};

}  // namespace

const Bf16Support& bf16_support() {
  return onednn_support();
}

void gemm_bf16(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<Bf16> a, Matrix<Bf16> b,
               bool accumulate, float* c, std::int64_t c_stride) {
  if (m == 0 || n == 0) return;
  thread_local Products products;  // oneDNN's streams and memory objects are not thread-safe
  const auto signed_stride = [](const Matrix<Bf16>& x) {
    return x.op == Op::kNone ? x.stride : -x.stride;
  };
  products.run({m, n, k, signed_stride(a), signed_stride(b), c_stride, accumulate ? 1 : 0}, a.op,
               b.op, a.data, b.data, c);
}

}  // namespace dtl::trainer
