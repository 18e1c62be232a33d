# How programs link third-party libraries: statically where archives exist, so that a program runs on, and
# can be copied to, any host with glibc 2.28 or later: Debian 10, Ubuntu 20.04, RHEL 8. Targets with the
# property DTL_SHARED link shared libraries instead, so that the host's updates reach them: with -D
# DTL_SHARED_LIBRARIES=ON, all targets.
set(DTL_SHARED ${DTL_SHARED_LIBRARIES})
define_property(TARGET PROPERTY DTL_SHARED INITIALIZE_FROM_VARIABLE DTL_SHARED)

# dtl_library(NAME SHARED LIBRARY... ARCHIVES FILE...): defines the interface library dtl_NAME. Without
# archives, every target uses the shared libraries.
function(dtl_library name)
  cmake_parse_arguments(L "" "" "SHARED;ARCHIVES" ${ARGN})
  add_library(dtl_${name} INTERFACE)
  if(NOT L_ARCHIVES OR "${L_ARCHIVES}" MATCHES "-NOTFOUND")
    target_link_libraries(dtl_${name} INTERFACE ${L_SHARED})
    return()
  endif()
  # As targets, so that CMake can order them on a link line: each before those that follow it.
  set(archives)
  list(REVERSE L_ARCHIVES)
  foreach(archive ${L_ARCHIVES})
    if(EXISTS ${archive})
      cmake_path(GET archive STEM stem)
      set(target dtl_archive_${stem})
      if(NOT TARGET ${target})
        add_library(${target} STATIC IMPORTED GLOBAL)
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${archive})
        target_link_libraries(${target} INTERFACE ${archives})
      endif()
      set(archive ${target})
    endif()
    list(PREPEND archives ${archive})
  endforeach()
  set(L_ARCHIVES ${archives})
  set(is_shared $<BOOL:$<TARGET_PROPERTY:DTL_SHARED>>)  # property of the linking program
  target_link_libraries(dtl_${name} INTERFACE "$<${is_shared}:${L_SHARED}>"
                                              "$<$<NOT:${is_shared}>:${L_ARCHIVES}>")
endfunction()

find_library(C_ARCHIVE libc.a)
find_library(CRYPTO_ARCHIVE libcrypto.a)
find_library(HWLOC_STATIC libhwloc.a REQUIRED)
find_library(OPENBLAS_ARCHIVE libopenblas.a)
find_library(SSH_ARCHIVE libssh.a)
find_library(SQLITE_ARCHIVE libsqlite3.a)
find_library(SSL_ARCHIVE libssl.a)
find_library(UTF8PROC_ARCHIVE libutf8proc.a)
find_library(Z_ARCHIVE libz.a)
find_library(MVEC_ARCHIVE libmvec.a)  # vectorized erf is newer than glibc 2.28

# libcrypto.a can compress: with zlib, and with zstd, which base/no_zstd.cc disables.
dtl_library(crypto SHARED OpenSSL::Crypto ARCHIVES ${CRYPTO_ARCHIVE} ${Z_ARCHIVE} dtl_no_zstd)
# libssl.a needs libcrypto.a of the same build.
if(SSL_ARCHIVE AND CRYPTO_ARCHIVE)
  dtl_library(ssl SHARED OpenSSL::SSL OpenSSL::Crypto ARCHIVES ${SSL_ARCHIVE} dtl_crypto)
else()
  dtl_library(ssl SHARED OpenSSL::SSL OpenSSL::Crypto)
endif()
dtl_library(utf8proc SHARED PkgConfig::utf8proc ARCHIVES ${UTF8PROC_ARCHIVE})
if(UTF8PROC_ARCHIVE)
  target_compile_definitions(dtl_utf8proc INTERFACE UTF8PROC_STATIC)
endif()
if(DTL_SANITIZE)  # sanitizers need the host's shared libraries for its threads and tables
  dtl_library(openblas SHARED PkgConfig::openblas)
else()
  dtl_library(openblas SHARED PkgConfig::openblas ARCHIVES ${OPENBLAS_ARCHIVE})
  target_include_directories(dtl_openblas SYSTEM INTERFACE ${openblas_INCLUDE_DIRS})
endif()
target_link_libraries(dtl_openblas INTERFACE Threads::Threads m)

add_library(dtl_mvec INTERFACE)
if(MVEC_ARCHIVE AND NOT DTL_SANITIZE)
  try_compile(MVEC_INSIDE SOURCES ${CMAKE_SOURCE_DIR}/trainer/maths/vector_math.cc
              SOURCE_FROM_CONTENT main.cc "int main() {}" LINK_LIBRARIES ${MVEC_ARCHIVE} m)
endif()
if(MVEC_INSIDE)
  target_sources(dtl_mvec INTERFACE ${CMAKE_SOURCE_DIR}/trainer/maths/vector_math.cc)
  target_link_libraries(dtl_mvec INTERFACE ${MVEC_ARCHIVE})
endif()

# libssh.a needs GSSAPI, which launcher/ssh/no_gssapi.cc disables, and further libraries. Loading these as
# shared libraries would take longer than the rest of a local start.
if(SSH_ARCHIVE AND CRYPTO_ARCHIVE AND Z_ARCHIVE)
  dtl_library(ssh SHARED ssh z ARCHIVES ${SSH_ARCHIVE} dtl_no_gssapi dtl_crypto)
else()
  dtl_library(ssh SHARED ssh z)
endif()

dtl_library(sqlite SHARED PkgConfig::sqlite ARCHIVES ${SQLITE_ARCHIVE})
target_link_libraries(dtl_sqlite INTERFACE Threads::Threads m)

# oneDNN provides only its header, and the soname to load on request of bf16 (trainer/maths/onednn.h). It
# always comes from the host.
execute_process(COMMAND ${CMAKE_READELF} -d ${DNNL_LIBRARY} OUTPUT_VARIABLE dynamic
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT dynamic MATCHES "SONAME.*\\[libdnnl[.]so[.]([0-9.]+)\\]")
  message(FATAL_ERROR "${DNNL_LIBRARY} has no soname like libdnnl.so.2")
endif()
add_library(dtl_onednn INTERFACE)
target_include_directories(dtl_onednn SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_compile_definitions(dtl_onednn INTERFACE DTL_ONEDNN_VERSION="${CMAKE_MATCH_1}")
target_link_libraries(dtl_onednn INTERFACE ${CMAKE_DL_LIBS})
if(DTL_SANITIZE)  # g++ 12's LeakSanitizer crashes on thread-local storage of libraries opened later
  target_link_options(dtl_onednn INTERFACE -Wl,--no-as-needed)
  target_link_libraries(dtl_onednn INTERFACE ${DNNL_LIBRARY})
endif()

# dtl_self_contained(TARGET): the target includes its compiler's C++ runtime and needs no symbol newer than
# glibc 2.28 (base/older_glibc.cc).
function(dtl_self_contained target)
  if(DTL_SANITIZE)
    return()
  endif()
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  target_link_libraries(${target} PRIVATE dtl_older_glibc)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_libraries(${target} PRIVATE dtl_older_start)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")  # before glibc 2.34, threads and dlopen() are libraries of their own
    target_link_options(${target} PRIVATE
                        -Wl,--push-state,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--pop-state)
  endif()
endfunction()
