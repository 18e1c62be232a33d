# The compiler for the fuzz preset: this machine's newest clang with libFuzzer. Debian's packages
# are clang and libclang-rt-dev. Override with -DCMAKE_CXX_COMPILER=...
if(NOT CMAKE_CXX_COMPILER)
  file(GLOB libraries /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a)
  list(SORT libraries COMPARE NATURAL ORDER DESCENDING)
  foreach(library IN LISTS libraries)
    string(REGEX REPLACE "/lib/clang/.*" "/bin/clang++" compiler ${library})
    if(EXISTS ${compiler})
      set(CMAKE_CXX_COMPILER ${compiler})
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "there is no clang with libFuzzer. Try: apt-get install clang libclang-rt-dev")
endif()
