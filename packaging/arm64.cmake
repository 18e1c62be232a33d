# The toolchain of the preset arm64: Debian's cross compiler, and a folder with Debian's libraries
# for arm64, DTL_ARM64_ROOT, as scripts/arm64-root makes it. With qemu-user, ctest runs the unit
# tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(NOT DTL_ARM64_ROOT)
  set(DTL_ARM64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root)
endif()
cmake_path(ABSOLUTE_PATH DTL_ARM64_ROOT BASE_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/.. NORMALIZE)
if(NOT EXISTS ${DTL_ARM64_ROOT}/usr/include)
  message(FATAL_ERROR "${DTL_ARM64_ROOT} has no libraries for arm64. Try: scripts/arm64-root")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DTL_ARM64_ROOT)
set(CMAKE_SYSROOT ${DTL_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${DTL_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Where Debian's alternatives would point to OpenBLAS: the packages are unpacked, not configured.
set(libraries usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
list(APPEND CMAKE_LIBRARY_PATH /${libraries}/openblas-pthread)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${DTL_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${DTL_ARM64_ROOT}/${libraries}/pkgconfig:${DTL_ARM64_ROOT}/${libraries}/openblas-pthread/pkgconfig:${DTL_ARM64_ROOT}/usr/share/pkgconfig)

# Without it, ctest leaves out tests that run what was built.
find_program(QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -L ${DTL_ARM64_ROOT})
endif()
