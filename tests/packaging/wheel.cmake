# Builds the wheel, from the compiler cache if the release preset has been built with one.
add_test(NAME packaging.wheel
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/wheel.sh ${CMAKE_BINARY_DIR})
set_tests_properties(packaging.wheel PROPERTIES LABELS packaging TIMEOUT 1800 SKIP_RETURN_CODE 77
                                                COST 300 PROCESSORS ${DTL_MANY_CPUS})
