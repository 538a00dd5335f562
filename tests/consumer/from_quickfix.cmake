# Builds examples/from_quickfix against the package that the test consumer.package installed, and lets its four programs
# trade.
include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${MILLPOND_SOURCE}/examples/from_quickfix" -B "${WORK}"
    -D CMAKE_BUILD_TYPE=Release -D "CMAKE_PREFIX_PATH=${PREFIX}")
run(${CMAKE_COMMAND} --build "${WORK}")
run("${CMAKE_CURRENT_LIST_DIR}/run_from_quickfix" "${WORK}")
