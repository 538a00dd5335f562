# Builds tests/consumer/fix and examples/fix_messages against the package that the test consumer.package installed, and
# runs them. QUICKFIX: whether the package must have the component quickfix.
include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${CMAKE_CURRENT_LIST_DIR}/fix" -B "${WORK}/fix" -D CMAKE_BUILD_TYPE=Release
    -D "CMAKE_PREFIX_PATH=${PREFIX}")
run(${CMAKE_COMMAND} --build "${WORK}/fix")
run("${WORK}/fix/dictionary")
if(NOT out MATCHES "ClOrdID")
    message(FATAL_ERROR "the dictionary's consumer printed '${out}', not ClOrdID")
endif()
if(QUICKFIX)
    run("${WORK}/fix/quickfix_store")
    if(NOT out MATCHES "kept")
        message(FATAL_ERROR "the consumer of QuickFIX's store printed '${out}', not kept")
    endif()
endif()

run(${CMAKE_COMMAND} -G ${GENERATOR} -S "${MILLPOND_SOURCE}/examples/fix_messages" -B "${WORK}/example"
    -D CMAKE_BUILD_TYPE=Release -D "CMAKE_PREFIX_PATH=${PREFIX}")
run(${CMAKE_COMMAND} --build "${WORK}/example")
run("${WORK}/example/fix_messages")
foreach(line "order order-1 at 10025 / 10.2" "order order-1 at 10150 / 10.2" "DESK is logged on" "VENUE received order-2")
    if(NOT out MATCHES "${line}")
        message(FATAL_ERROR "examples/fix_messages printed '${out}', without '${line}'")
    endif()
endforeach()

# The guide shows the example's own lines.
file(READ "${MILLPOND_SOURCE}/examples/fix_messages/main.cpp" example)
file(READ "${MILLPOND_SOURCE}/docs/internals/fix.md" guide)
string(FIND "${example}" "    // docs/internals/fix.md: reading\n" begin)
string(FIND "${example}" "    // docs/internals/fix.md: end\n" end)
string(LENGTH "    // docs/internals/fix.md: reading\n" marker)
math(EXPR begin "${begin} + ${marker}")
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${example}" ${begin} ${length} loop)
string(REPLACE "\n    " "\n" loop "\n${loop}")
string(FIND "${guide}" "${loop}" shown)
if(shown EQUAL -1)
    message(FATAL_ERROR "docs/internals/fix.md does not show the reading loop of examples/fix_messages:\n${loop}")
endif()
