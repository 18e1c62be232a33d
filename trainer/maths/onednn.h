#pragma once
// A common C interface to oneDNN 2 and 3, for gemm_bf16.cc only. The library is loaded on first
// use, in the release whose headers this was compiled with.

#include <oneapi/dnnl/dnnl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "trainer/maths/gemm.h"
#include "trainer/maths/gemm_bf16.h"

namespace dtl::trainer {

// The oneDNN functions that we call, with their own names.
struct OneDnn {
  decltype(&dnnl_get_effective_cpu_isa) effective_isa = nullptr;
  decltype(&dnnl_engine_create) engine_create = nullptr;
  decltype(&dnnl_stream_create) stream_create = nullptr;
  decltype(&dnnl_stream_destroy) stream_destroy = nullptr;
  decltype(&dnnl_memory_create) memory_create = nullptr;
  decltype(&dnnl_memory_destroy) memory_destroy = nullptr;
  decltype(&dnnl_memory_set_data_handle) memory_point = nullptr;
  decltype(&dnnl_post_ops_create) post_ops_create = nullptr;
  decltype(&dnnl_post_ops_append_sum) post_ops_sum = nullptr;
  decltype(&dnnl_post_ops_destroy) post_ops_destroy = nullptr;
  decltype(&dnnl_primitive_attr_create) attributes_create = nullptr;
  decltype(&dnnl_primitive_attr_set_post_ops) attributes_set_post_ops = nullptr;
  decltype(&dnnl_primitive_attr_destroy) attributes_destroy = nullptr;
#if DNNL_VERSION_MAJOR >= 3
  decltype(&dnnl_memory_desc_create_with_strides) describe = nullptr;
  decltype(&dnnl_memory_desc_destroy) describe_destroy = nullptr;
  decltype(&dnnl_matmul_primitive_desc_create) plan_create = nullptr;
#else
  decltype(&dnnl_memory_desc_init_by_strides) describe = nullptr;
  decltype(&dnnl_matmul_desc_init) matmul_describe = nullptr;
  decltype(&dnnl_primitive_desc_create) plan_create = nullptr;
#endif
  decltype(&dnnl_primitive_desc_destroy) plan_destroy = nullptr;
  decltype(&dnnl_primitive_create) primitive_create = nullptr;
  decltype(&dnnl_primitive_execute) primitive_execute = nullptr;
  decltype(&dnnl_primitive_destroy) primitive_destroy = nullptr;
  void (*omp_threads)(int) = nullptr;  // of the calling thread
  dnnl_engine_t engine = nullptr;
};

// Loads it on the first call; any thread.
const OneDnn& onednn();
const Bf16Support& onednn_support();

// Ends the process with a message unless it succeeded: the pool's tasks must not throw, and a
// training that went on would use wrong sums.
void expect(dnnl_status_t status);

// The memory layout of a matrix.
class Layout {
 public:
  Layout(std::int64_t rows, std::int64_t cols, dnnl_data_type_t type, std::int64_t stride, Op op);
#if DNNL_VERSION_MAJOR >= 3
  const_dnnl_memory_desc_t get() const {
    return layout_.get();
  }

 private:
  std::unique_ptr<std::remove_pointer_t<dnnl_memory_desc_t>, decltype(&dnnl_memory_desc_destroy)>
      layout_;
#else
  const dnnl_memory_desc_t* get() const {
    return &layout_;
  }

 private:
  dnnl_memory_desc_t layout_;
#endif
};

// Plans c = a * b, or c += a * b if `accumulate`. The caller destroys the plan.
dnnl_primitive_desc_t plan_product(const Layout& a, const Layout& b, const Layout& c,
                                   bool accumulate);

}  // namespace dtl::trainer
