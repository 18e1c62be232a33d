// Loads the library by name and looks up each function. If it is missing or another release,
// returns the reason; only the caller decides whether that is an error.
#include "trainer/maths/onednn.h"

#include <dlfcn.h>
#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>

#include "base/error.h"
#include "base/log.h"

namespace dtl::trainer {
namespace {

// The type comes from oneDNN's header (onednn.h), so a signature cannot differ unnoticed.
template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// The soname that belongs to the headers, which define the layout of structures. Debian's packages
// are named after it.
constexpr const char* kLibrary = "libdnnl.so." DTL_ONEDNN_VERSION;
constexpr const char* kPackage = "libdnnl" DTL_ONEDNN_VERSION;
static_assert(DNNL_VERSION_MAJOR == 2 || DNNL_VERSION_MAJOR == 3, "written for oneDNN 2 and 3");

// omp_set_num_threads is from OpenMP, a dependency of oneDNN.
bool find_all(void* library, OneDnn& f) {
  return find(library, "dnnl_get_effective_cpu_isa", f.effective_isa) &&
         find(library, "dnnl_engine_create", f.engine_create) &&
         find(library, "dnnl_stream_create", f.stream_create) &&
         find(library, "dnnl_stream_destroy", f.stream_destroy) &&
         find(library, "dnnl_memory_create", f.memory_create) &&
         find(library, "dnnl_memory_destroy", f.memory_destroy) &&
         find(library, "dnnl_memory_set_data_handle", f.memory_point) &&
         find(library, "dnnl_post_ops_create", f.post_ops_create) &&
         find(library, "dnnl_post_ops_append_sum", f.post_ops_sum) &&
         find(library, "dnnl_post_ops_destroy", f.post_ops_destroy) &&
         find(library, "dnnl_primitive_attr_create", f.attributes_create) &&
         find(library, "dnnl_primitive_attr_set_post_ops", f.attributes_set_post_ops) &&
         find(library, "dnnl_primitive_attr_destroy", f.attributes_destroy) &&
#if DNNL_VERSION_MAJOR >= 3
         find(library, "dnnl_memory_desc_create_with_strides", f.describe) &&
         find(library, "dnnl_memory_desc_destroy", f.describe_destroy) &&
         find(library, "dnnl_matmul_primitive_desc_create", f.plan_create) &&
#else
         find(library, "dnnl_memory_desc_init_by_strides", f.describe) &&
         find(library, "dnnl_matmul_desc_init", f.matmul_describe) &&
         find(library, "dnnl_primitive_desc_create", f.plan_create) &&
#endif
         find(library, "dnnl_primitive_desc_destroy", f.plan_destroy) &&
         find(library, "dnnl_primitive_create", f.primitive_create) &&
         find(library, "dnnl_primitive_execute", f.primitive_execute) &&
         find(library, "dnnl_primitive_destroy", f.primitive_destroy) &&
         find(library, "omp_set_num_threads", f.omp_threads);
}

// Reads CPUID (Intel SDM, leaf 7): AVX512_BF16 is EAX bit 5 of subleaf 1, AMX-BF16 EDX bit 22 of
// subleaf 0. Empty: neither.
std::string cpu_instructions() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1U) != 0;
  const bool avx512 = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1U) != 0;
  if (!__builtin_cpu_supports("avx512f")) return "";  // also checks the operating system
  return amx ? "amx_bf16" : avx512 ? "avx512_bf16" : "";
#else
  return "";  // oneDNN of Debian computes bf16 on arm64 without its instructions
#endif
}

#if defined(__x86_64__)
constexpr const char* kWithout =
    "this CPU has no bf16 instructions (AVX512_BF16 or AMX), and emulation is slower than float";
#else
constexpr const char* kWithout =
    "bf16 needs an x86-64 CPU with AVX512_BF16 or AMX, and emulation is slower than float";
#endif

struct Loaded {
  OneDnn functions;
  Bf16Support support;
};

// Cheapest checks first: CPUID, the library, its functions, its own report about the CPU.
Loaded load() {
  Loaded result;
  result.support.name = cpu_instructions();
  if (result.support.name.empty()) {
    result.support.reason = kWithout;
    return result;
  }
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // never closed: OpenMP would crash
  if (!library) {
    const char* why = ::dlerror();
    result.support.reason = fmt::format("{} (Debian package {})", why ? why : kLibrary, kPackage);
    return result;
  }
  if (!find_all(library, result.functions)) {
    result.support.reason =
        fmt::format("{} lacks functions of oneDNN {}", kLibrary, DNNL_VERSION_MAJOR);
    return result;
  }
  // ONEDNN_MAX_CPU_ISA, or a kernel that does not enable AMX, may allow less than the CPU has.
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

}  // namespace

const OneDnn& onednn() {
  return loaded().functions;
}

const Bf16Support& onednn_support() {
  return loaded().support;
}

void expect(dnnl_status_t status) {
  if (status == dnnl_success) return;
  const std::string why = status == dnnl_out_of_memory
                              ? "not enough memory"
                              : fmt::format("status {}", static_cast<int>(status));
  log_error(Error(Exit::kOs, "bf16: oneDNN cannot compute", why, "--bf16 false").what());
  std::abort();
}

#if DNNL_VERSION_MAJOR >= 3
Layout::Layout(std::int64_t rows, std::int64_t cols, dnnl_data_type_t type, std::int64_t stride,
               Op op)
    : layout_(nullptr, onednn().describe_destroy) {
  const dnnl_dims_t sizes = {rows, cols};
  const dnnl_dims_t plain = {stride, 1}, transposed = {1, stride};
  dnnl_memory_desc_t layout = nullptr;
  expect(onednn().describe(&layout, 2, sizes, type, op == Op::kNone ? plain : transposed));
  layout_.reset(layout);
}
#else
Layout::Layout(std::int64_t rows, std::int64_t cols, dnnl_data_type_t type, std::int64_t stride,
               Op op) {
  const dnnl_dims_t sizes = {rows, cols};
  const dnnl_dims_t plain = {stride, 1}, transposed = {1, stride};
  expect(onednn().describe(&layout_, 2, sizes, type, op == Op::kNone ? plain : transposed));
}
#endif

// Sums, and so c, are float for any operands.
dnnl_primitive_desc_t plan_product(const Layout& a, const Layout& b, const Layout& c,
                                   bool accumulate) {
  const OneDnn& f = onednn();
  dnnl_primitive_attr_t attributes = nullptr;
  expect(f.attributes_create(&attributes));
  if (accumulate) {
    dnnl_post_ops_t sum = nullptr;
    expect(f.post_ops_create(&sum));
#if DNNL_VERSION_MAJOR >= 3
    expect(f.post_ops_sum(sum, 1.0F, 0, dnnl_data_type_undef));  // with c's type
#else
    expect(f.post_ops_sum(sum, 1.0F));
#endif
    expect(f.attributes_set_post_ops(attributes, sum));
    expect(f.post_ops_destroy(sum));
  }
  dnnl_primitive_desc_t plan = nullptr;
#if DNNL_VERSION_MAJOR >= 3
  expect(f.plan_create(&plan, f.engine, a.get(), b.get(), nullptr, c.get(), attributes));
#else
  dnnl_matmul_desc_t product;
  expect(f.matmul_describe(&product, a.get(), b.get(), nullptr, c.get()));
  expect(f.plan_create(&plan, &product, attributes, f.engine, nullptr));
#endif
  expect(f.attributes_destroy(attributes));
  return plan;
}

Library onednn_library() {
  const Bf16Support& support = onednn_support();
  decltype(&dnnl_version) version = nullptr;
  // onednn_support() has loaded it if this CPU can use it; RTLD_NOLOAD does not load it.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD);
  if (!library || !find(library, "dnnl_version", version))
    return {"oneDNN", "-", nullptr, support.reason};
  const dnnl_version_t& v = *version();
  return {"oneDNN", version_of(v.major, v.minor, v.patch), address_of(version)};
}

}  // namespace dtl::trainer
