# Where the parts of a Python wheel are installed; scikit-build-core sets SKBUILD and the folders.
#
# The programs are the wheel's scripts: pip puts them together into the venv's bin. libdtring is
# beside the packages in dtring.libs, which is not a valid package name for imports. There a package
# finds it however it was installed, also by `pip install --target`, which drops a wheel's lib/.
set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
set(CMAKE_INSTALL_LIBDIR lib)  # left out of the wheel: pyproject.toml

function(dtl_wheel_library target)
  install(FILES $<TARGET_FILE:${target}> DESTINATION ${SKBUILD_PLATLIB_DIR}/${target}.libs
          RENAME $<TARGET_SONAME_FILE_NAME:${target}>)
endfunction()
