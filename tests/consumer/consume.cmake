# Builds and runs tests/consumer/app in the way named by WAY:
#   package       installs millpond from the build folder BUILD, then find_package(millpond COMPONENTS memory queue)
#   subdirectory  add_subdirectory of the source tree
#   fetchcontent  FetchContent with the source tree as its origin
# Each configure step hides every other package, so that a dependency that crept in makes the test fail.
include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

file(REMOVE_RECURSE "${WORK}")
set(hidden "")
foreach(hide Boost CLI11 date fmt GTest OpenSSL PkgConfig pugixml spdlog tomlplusplus)
    list(APPEND hidden -D CMAKE_DISABLE_FIND_PACKAGE_${hide}=ON)
endforeach()
set(prefix "")
if(WAY STREQUAL "package")
    run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/prefix" --component millpond_development)
    set(prefix -D "CMAKE_PREFIX_PATH=${WORK}/prefix")
endif()
run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${CMAKE_CURRENT_LIST_DIR}/app" -B "${WORK}/app" ${hidden} ${prefix}
    -D WAY=${WAY} -D "MILLPOND_SOURCE=${MILLPOND_SOURCE}" -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build "${WORK}/app")
file(GLOB_RECURSE strays "${WORK}/app/*_tests" "${WORK}/app/*/apps/millpond/millpond")
if(strays)
    message(FATAL_ERROR "a consumer's build made our tests or programs: ${strays}")
endif()
run("${WORK}/app/consumer")
if(NOT out MATCHES "42")
    message(FATAL_ERROR "the consumer printed '${out}', not 42")
endif()
