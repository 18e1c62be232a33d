# DTL_LINKED_PACKAGES: the distribution package of each library inside our programs,
# "|OpenSSL=libssl-dev 3.0.17-1|zlib=...|", for --version -v: a library's own version does not show
# security fixes, but the package's revision does. DTL_LINKED_SOURCES: their source packages, lines
# "OpenSSL openssl (= 3.0.17-1)", for Static-Built-Using. Both are empty without dpkg.
set(DTL_LINKED_PACKAGES "")
set(DTL_LINKED_SOURCES "")
find_program(DPKG_QUERY dpkg-query)
# Of a cross build, its libraries (scripts/arm64-root), and this machine's packages for the compiler's own.
set(dpkg_folders /var/lib/dpkg)
if(EXISTS "${CMAKE_SYSROOT}/var/lib/dpkg/status" AND CMAKE_SYSROOT)
  list(PREPEND dpkg_folders ${CMAKE_SYSROOT}/var/lib/dpkg)
endif()
find_path(FMT_HEADER fmt/core.h)
find_path(JSON_HEADER nlohmann/json.hpp)
find_path(TOML_HEADER toml.hpp)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
                OUTPUT_VARIABLE stdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
set(linked OpenSSL ${CRYPTO_ARCHIVE} libssl ${SSL_ARCHIVE} OpenBLAS ${OPENBLAS_ARCHIVE} libssh ${SSH_ARCHIVE}
           SQLite ${SQLITE_ARCHIVE} utf8proc ${UTF8PROC_ARCHIVE} zlib ${Z_ARCHIVE} libmvec ${MVEC_ARCHIVE}
           glibc ${C_ARCHIVE} hwloc ${HWLOC_STATIC} libstdc++ ${stdcxx}
           Boost ${Boost_INCLUDE_DIRS}/boost/version.hpp
           fmt ${FMT_HEADER}/fmt/core.h nlohmann-json ${JSON_HEADER}/nlohmann/json.hpp
           toml11 ${TOML_HEADER}/toml.hpp)

# Adds the package that owns the file. Files keep the time of their package's build, so the build
# depends on dpkg's file list, which changes at an upgrade.
function(add_package library file)
  file(REAL_PATH "${file}" file)
  foreach(one ${dpkg_folders})
    set(folder ${one})
    execute_process(COMMAND ${DPKG_QUERY} --admindir=${folder} -S ${file} OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner)
      break()
    endif()
  endforeach()
  if(NOT owner MATCHES "^([^ :]+)(:[^ :]+)?: ")
    return()
  endif()
  set(package ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  execute_process(COMMAND ${DPKG_QUERY} --admindir=${folder} -W "-f=\${Package} \${Version}|\${source:Package} (= \${source:Version})"
                          ${package} OUTPUT_VARIABLE facts)
  string(REPLACE "|" ";" facts "${facts}")
  list(GET facts 0 binary)
  list(GET facts 1 source)
  set(DTL_LINKED_SOURCES "${DTL_LINKED_SOURCES}${library} ${source}\n" PARENT_SCOPE)
  set(DTL_LINKED_PACKAGES "${DTL_LINKED_PACKAGES}|${library}=${binary}" PARENT_SCOPE)
  file(GLOB list "${folder}/info/${package}.list")
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
endfunction()

if(DPKG_QUERY)
  while(linked)
    list(POP_FRONT linked library file)
    if(EXISTS "${file}")
      add_package(${library} ${file})
    endif()
  endwhile()
endif()
