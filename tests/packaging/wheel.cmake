# Builds the wheel. Uses the compiler cache if the release preset was built with one.
dtl_add_test(packaging.wheel LIMIT 1800 COST ${DTL_FIRST} TAKES ${DTL_ONE_CPU} LABEL packaging
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/wheel.sh ${CMAKE_BINARY_DIR})
