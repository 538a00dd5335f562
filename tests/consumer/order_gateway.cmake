# Builds examples/order_gateway against the package that the test consumer.package installed, and runs it.
include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${MILLPOND_SOURCE}/examples/order_gateway" -B "${WORK}"
    -D CMAKE_BUILD_TYPE=Release -D "CMAKE_PREFIX_PATH=${PREFIX}")
run(${CMAKE_COMMAND} --build "${WORK}")
run("${CMAKE_CURRENT_LIST_DIR}/run_order_gateway" "${MILLPOND}" "${WORK}/order_gateway")
