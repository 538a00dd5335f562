# Builds and installs two components as shared libraries, with every package hidden, and a program that uses them.
include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

file(REMOVE_RECURSE "${WORK}")
set(hidden "")
foreach(hide Boost CLI11 date fmt GTest OpenSSL PkgConfig pugixml spdlog tomlplusplus)
    list(APPEND hidden -D CMAKE_DISABLE_FIND_PACKAGE_${hide}=ON)
endforeach()
# The build folder had the tests and the daemons before.
run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${MILLPOND_SOURCE}" -B "${WORK}/library" ${hidden} -D MILLPOND_COMPONENTS=memory,queue
    -D MILLPOND_BUILD_TESTS=ON -D MILLPOND_BUILD_APPS=ON -D BUILD_SHARED_LIBS=ON -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build "${WORK}/library")
run(${CMAKE_COMMAND} --install "${WORK}/library" --prefix "${WORK}/prefix")
file(GLOB_RECURSE libraries RELATIVE "${WORK}/prefix" "${WORK}/prefix/*.so" "${WORK}/prefix/*.a")
if(NOT libraries MATCHES "^[^;]*libmillpond_memory.so$")
    message(FATAL_ERROR "installed, where only libmillpond_memory.so was asked for: ${libraries}")
endif()
run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${CMAKE_CURRENT_LIST_DIR}/app" -B "${WORK}/app" ${hidden}
    -D "CMAKE_PREFIX_PATH=${WORK}/prefix" -D WAY=package -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build "${WORK}/app")
run("${WORK}/app/consumer")
if(NOT out MATCHES "42")
    message(FATAL_ERROR "the consumer printed '${out}', not 42")
endif()

# Without the choice of components the daemons are configured again, whose packages are hidden here.
execute_process(COMMAND ${CMAKE_COMMAND} -D MILLPOND_COMPONENTS= "${WORK}/library" OUTPUT_QUIET ERROR_VARIABLE error)
if(NOT error MATCHES "CMAKE_DISABLE_FIND_PACKAGE_fmt")
    message(FATAL_ERROR "without components the daemons were not configured: ${error}")
endif()
