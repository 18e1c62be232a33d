# The SBOM of what is installed (packaging/sbom): share/doc/dtlaunch/dtlaunch.spdx.json, and in a wheel
# DIST-INFO/sboms (PEP 770). Component "sbom", because it needs the programs of all others: a plain
# `cmake --install` has it, and what installs single components calls packaging/sbom itself.
find_program(DTL_PYTHON python3)
if(DTL_PYTHON) # python3-minimal lacks json
  execute_process(COMMAND ${DTL_PYTHON} -c "import json" RESULT_VARIABLE lacks_json ERROR_QUIET)
endif()
set(DTL_SBOM ${CMAKE_SOURCE_DIR}/packaging/sbom)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "The programs cannot run here, so no SBOM says what is inside")
  return()
elseif(NOT DTL_PYTHON OR lacks_json)
  message(STATUS "No SBOM says what is inside the programs: it takes python3")
  return()
elseif(DTL_SANITIZE)
  return() # those builds are not installed
endif()
list(JOIN DTL_SBOM_OPTIONS "\" \"" options)
if(options)
  set(options "\"${options}\"")
endif()
if(SKBUILD)
  set(sbom_file ${SKBUILD_METADATA_DIR}/sboms/dtlaunch.spdx.json)
  set(left_out "/lib/libdtring")  # pyproject.toml; the wheel's is in dtring.libs
else()
  set(sbom_file ${CMAKE_INSTALL_DOCDIR}/dtlaunch.spdx.json)
  set(left_out "^$")
endif()
install(CODE "
  set(sbom \"${sbom_file}\")
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
  cmake_path(ABSOLUTE_PATH sbom BASE_DIRECTORY \"\${prefix}\" NORMALIZE)
  set(programs \${CMAKE_INSTALL_MANIFEST_FILES})
  list(FILTER programs INCLUDE REGEX \"/(dt[a-z-]+|libdtring\\\\.so[.0-9]*)$\")
  list(FILTER programs EXCLUDE REGEX \"${left_out}\")
  list(TRANSFORM programs PREPEND \"\$ENV{DESTDIR}\")
  if(programs)
    message(STATUS \"Installing: \$ENV{DESTDIR}\${sbom}\")
    execute_process(COMMAND \"${DTL_PYTHON}\" \"${DTL_SBOM}\" --version ${PROJECT_VERSION} ${options}
                            --output \"\$ENV{DESTDIR}\${sbom}\" \${programs} COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${sbom}\")
  endif()" COMPONENT sbom)
