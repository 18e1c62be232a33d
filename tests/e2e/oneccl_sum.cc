// Adds up over oneCCL, as its samples do: rank 0 makes a store, the others get its address by MPI.
//
// oneccl_sum [FILE]     FILE: they get it from this file instead, without MPI_Init
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <oneapi/ccl.hpp>
#include <string>
#include <vector>

// oneCCL's static library wants these of the libraries of Intel's compiler.
extern "C" {
void* _intel_fast_memcpy(void* to, const void* from, std::size_t bytes) {
  return std::memcpy(to, from, bytes);
}
void* _intel_fast_memset(void* to, int value, std::size_t bytes) {
  return std::memset(to, value, bytes);
}
void *__itt_domain_create_ptr__3_0, *__itt_event_create_ptr__3_0, *__itt_event_end_ptr__3_0,
    *__itt_event_start_ptr__3_0, *__itt_metadata_add_ptr__3_0, *__itt_string_handle_create_ptr__3_0,
    *__itt_task_begin_ptr__3_0, *__itt_task_end_ptr__3_0, *__itt_thread_set_name_ptr__3_0;
}

namespace {

using Address = ccl::kvs::address_type;

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atoi(text);
}

void pass_by_file(Address& address, bool writes, const std::string& file) {
  const std::string unfinished = file + ".new";
  if (writes) {
    std::ofstream(unfinished).write(address.data(), static_cast<std::streamsize>(address.size()));
    std::rename(unfinished.c_str(), file.c_str());
  }
  while (access(file.c_str(), R_OK) != 0) usleep(10000);
  std::ifstream(file).read(address.data(), static_cast<std::streamsize>(address.size()));
}

}  // namespace

int main(int argc, char** argv) {
  ccl::init();
  int rank = number("RANK"), size = number("WORLD_SIZE");
  if (argc == 1) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  std::shared_ptr<ccl::kvs> store;
  Address address{};
  if (rank == 0) {
    store = ccl::create_main_kvs();
    address = store->get_address();
  }
  if (argc > 1) {
    pass_by_file(address, rank == 0, argv[1]);
  } else {
    MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  if (rank != 0) store = ccl::create_kvs(address);
  {
    const auto all = ccl::create_communicator(size, rank, store);
    const std::vector<float> mine(1000, static_cast<float>(rank + 1));
    std::vector<float> sums(mine.size());
    ccl::allreduce(mine.data(), sums.data(), mine.size(), ccl::reduction::sum, all).wait();
    std::printf("rank %d of %d on %s: sums %g to %g\n", all.rank(), all.size(),
                std::getenv("DTLAUNCH_HOST"), static_cast<double>(sums.front()),
                static_cast<double>(sums.back()));
  }
  if (argc == 1) MPI_Finalize();
}
