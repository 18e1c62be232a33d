#include "trainer/gemm_bf16.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <array>
#include <cassert>
#include <map>

namespace dtl::trainer {
namespace {

// oneDNN's C functions that we call, by their own names.
struct OneDnn {
  decltype(&dnnl_get_effective_cpu_isa) effective_isa = nullptr;
  decltype(&dnnl_engine_create) engine_create = nullptr;
  decltype(&dnnl_stream_create) stream_create = nullptr;
  decltype(&dnnl_stream_destroy) stream_destroy = nullptr;
  decltype(&dnnl_memory_desc_init_by_strides) describe = nullptr;
  decltype(&dnnl_memory_create) memory_create = nullptr;
  decltype(&dnnl_memory_destroy) memory_destroy = nullptr;
  decltype(&dnnl_memory_set_data_handle) memory_point = nullptr;
  decltype(&dnnl_post_ops_create) post_ops_create = nullptr;
  decltype(&dnnl_post_ops_append_sum) post_ops_sum = nullptr;
  decltype(&dnnl_post_ops_destroy) post_ops_destroy = nullptr;
  decltype(&dnnl_primitive_attr_create) attributes_create = nullptr;
  decltype(&dnnl_primitive_attr_set_post_ops) attributes_set_post_ops = nullptr;
  decltype(&dnnl_primitive_attr_destroy) attributes_destroy = nullptr;
  decltype(&dnnl_matmul_desc_init) matmul_describe = nullptr;
  decltype(&dnnl_primitive_desc_create) plan_create = nullptr;
  decltype(&dnnl_primitive_desc_destroy) plan_destroy = nullptr;
  decltype(&dnnl_primitive_create) primitive_create = nullptr;
  decltype(&dnnl_primitive_execute) primitive_execute = nullptr;
  decltype(&dnnl_primitive_destroy) primitive_destroy = nullptr;
  void (*omp_threads)(int) = nullptr;  // of the calling thread
  dnnl_engine_t engine = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// oneDNN's own soname, since the header fixes the layout of its structures.
constexpr const char* kLibrary = "libdnnl.so.2";
static_assert(DNNL_VERSION_MAJOR == 2, "gemm_bf16.cc is written for oneDNN 2");

bool find_all(void* library, OneDnn& f) {
  return find(library, "dnnl_get_effective_cpu_isa", f.effective_isa) &&
         find(library, "dnnl_engine_create", f.engine_create) &&
         find(library, "dnnl_stream_create", f.stream_create) &&
         find(library, "dnnl_stream_destroy", f.stream_destroy) &&
         find(library, "dnnl_memory_desc_init_by_strides", f.describe) &&
         find(library, "dnnl_memory_create", f.memory_create) &&
         find(library, "dnnl_memory_destroy", f.memory_destroy) &&
         find(library, "dnnl_memory_set_data_handle", f.memory_point) &&
         find(library, "dnnl_post_ops_create", f.post_ops_create) &&
         find(library, "dnnl_post_ops_append_sum", f.post_ops_sum) &&
         find(library, "dnnl_post_ops_destroy", f.post_ops_destroy) &&
         find(library, "dnnl_primitive_attr_create", f.attributes_create) &&
         find(library, "dnnl_primitive_attr_set_post_ops", f.attributes_set_post_ops) &&
         find(library, "dnnl_primitive_attr_destroy", f.attributes_destroy) &&
         find(library, "dnnl_matmul_desc_init", f.matmul_describe) &&
         find(library, "dnnl_primitive_desc_create", f.plan_create) &&
         find(library, "dnnl_primitive_desc_destroy", f.plan_destroy) &&
         find(library, "dnnl_primitive_create", f.primitive_create) &&
         find(library, "dnnl_primitive_execute", f.primitive_execute) &&
         find(library, "dnnl_primitive_destroy", f.primitive_destroy) &&
         find(library, "omp_set_num_threads", f.omp_threads);
}

// What CPUID says (Intel SDM, leaf 7): AVX512_BF16 is EAX bit 5 of subleaf 1, AMX-BF16 EDX bit 22
// of subleaf 0. Empty: neither.
std::string cpu_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1U) != 0;
  const bool avx512 = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1U) != 0;
  if (!__builtin_cpu_supports("avx512f")) return "";  // the operating system's consent included
  return amx ? "amx_bf16" : avx512 ? "avx512_bf16" : "";
}

struct Loaded {
  OneDnn functions;
  Bf16Support support;
};

Loaded load() {
  Loaded result;
  result.support.name = cpu_instructions();
  if (result.support.name.empty()) {
    result.support.reason =
        "this CPU has no bf16 instructions (AVX512_BF16 or AMX), and emulation is slower than "
        "float";
    return result;
  }
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // never closed: OpenMP's would crash
  if (!library) {
    const char* why = ::dlerror();
    result.support.reason = std::string(why ? why : kLibrary) + " (Debian package libdnnl2)";
    return result;
  }
  if (!find_all(library, result.functions)) {
    result.support.reason = std::string(kLibrary) + " lacks functions of oneDNN 2.6";
    return result;
  }
  // ONEDNN_MAX_CPU_ISA, or a kernel that does not switch AMX on, may leave less than the CPU has.
  const dnnl_cpu_isa_t isa = result.functions.effective_isa();
  const auto includes = [&](dnnl_cpu_isa_t wanted) { return (isa & wanted) == wanted; };
  if (includes(dnnl_cpu_isa_avx512_core_amx)) {
    result.support.name = "amx_bf16";
  } else if (includes(dnnl_cpu_isa_avx512_core_bf16)) {
    result.support.name = "avx512_bf16";
  } else {
    result.support.reason = "oneDNN does not use this CPU's bf16 instructions";
    return result;
  }
  if (result.functions.engine_create(&result.functions.engine, dnnl_cpu, 0) != dnnl_success) {
    result.support.reason = "oneDNN cannot compute on this CPU";
    return result;
  }
  result.support.available = true;
  return result;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

// The pool's tasks do not throw, and oneDNN fails only when we ask for what it cannot do.
void expect(dnnl_status_t status) {
  assert(status == dnnl_success);
  static_cast<void>(status);
}

// Everything that a prepared product depends on: sizes, strides (transposed ones negative), beta.
using Shape = std::array<std::int64_t, 7>;

dnnl_memory_desc_t describe(std::int64_t rows, std::int64_t cols, dnnl_data_type_t type,
                            std::int64_t stride, Op op) {
  const dnnl_dims_t sizes = {rows, cols};
  const dnnl_dims_t plain = {stride, 1}, transposed = {1, stride};
  dnnl_memory_desc_t result;
  expect(
      loaded().functions.describe(&result, 2, sizes, type, op == Op::kNone ? plain : transposed));
  return result;
}

// A product of one shape, compiled by oneDNN: for the thread that made it.
class Product {
 public:
  Product(const Shape& shape, Op a_op, Op b_op) {
    const auto& [m, n, k, a_stride, b_stride, c_stride, accumulate] = shape;
    const OneDnn& f = loaded().functions;
    const dnnl_memory_desc_t a = describe(m, k, dnnl_bf16, std::abs(a_stride), a_op);
    const dnnl_memory_desc_t b = describe(k, n, dnnl_bf16, std::abs(b_stride), b_op);
    const dnnl_memory_desc_t c = describe(m, n, dnnl_f32, c_stride, Op::kNone);
    dnnl_matmul_desc_t product;
    expect(f.matmul_describe(&product, &a, &b, nullptr, &c));
    dnnl_primitive_attr_t attributes = nullptr;
    expect(f.attributes_create(&attributes));
    if (accumulate != 0) {
      dnnl_post_ops_t sum = nullptr;
      expect(f.post_ops_create(&sum));
      expect(f.post_ops_sum(sum, 1.0F));
      expect(f.attributes_set_post_ops(attributes, sum));
      expect(f.post_ops_destroy(sum));
    }
    dnnl_primitive_desc_t plan = nullptr;
    expect(f.plan_create(&plan, &product, attributes, f.engine, nullptr));
    expect(f.attributes_destroy(attributes));
    expect(f.primitive_create(&primitive_, plan));
    expect(f.plan_destroy(plan));
    const std::array descriptions = {&a, &b, &c};
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      expect(f.memory_create(&memories_[i], descriptions[i], f.engine, DNNL_MEMORY_NONE));
    }
  }
  ~Product() {
    const OneDnn& f = loaded().functions;
    for (const dnnl_memory_t memory : memories_) f.memory_destroy(memory);
    f.primitive_destroy(primitive_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void run(dnnl_stream_t stream, const Bf16* a, const Bf16* b, float* c) const {
    const OneDnn& f = loaded().functions;
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

// What one thread keeps: its stream and the products it has prepared. Lengths of sequences vary, so
// the number of shapes has a bound; forgetting all of them costs a few milliseconds.
class Products {
 public:
  Products() {
    const OneDnn& f = loaded().functions;
    f.omp_threads(1);  // oneDNN's loops on the calling thread, for good
    expect(f.stream_create(&stream_, f.engine, dnnl_stream_default_flags));
  }
  ~Products() { loaded().functions.stream_destroy(stream_); }
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
  return loaded().support;
}

void gemm_bf16(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<Bf16> a, Matrix<Bf16> b,
               bool accumulate, float* c, std::int64_t c_stride) {
  if (m == 0 || n == 0) return;
  thread_local Products products;  // oneDNN's streams and memories are for one thread
  const auto signed_stride = [](const Matrix<Bf16>& x) {
    return x.op == Op::kNone ? x.stride : -x.stride;
  };
  products.run({m, n, k, signed_stride(a), signed_stride(b), c_stride, accumulate ? 1 : 0}, a.op,
               b.op, a.data, b.data, c);
}

}  // namespace dtl::trainer
