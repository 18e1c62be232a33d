# Where the parts of a Python wheel go; scikit-build-core sets SKBUILD and the folders.
#
# The programs are the wheel's scripts: pip puts them into the venv's bin as they are, each beside
# the others. libdtring lies beside the packages in dtring.libs, a name that no import takes for a
# package: a package finds it there however it was installed, `pip install --target` included, which
# leaves a wheel's lib/ behind.
set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
set(CMAKE_INSTALL_LIBDIR lib)  # left out of the wheel: pyproject.toml

function(dtl_wheel_library target)
  install(FILES $<TARGET_FILE:${target}> DESTINATION ${SKBUILD_PLATLIB_DIR}/${target}.libs
          RENAME $<TARGET_SONAME_FILE_NAME:${target}>)
endfunction()
