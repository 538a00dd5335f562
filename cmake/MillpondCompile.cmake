# What makes the build of the program shorter: headers parsed once, and less optimization where no message passes.

# Standard headers that most files of the project include; half of a small file's time was their parsing. The files
# still include what they use: tools/lint compiles them without this.
set(MILLPOND_PRECOMPILED
    <algorithm>
    <array>
    <atomic>
    <chrono>
    <filesystem>
    <fstream>
    <functional>
    <map>
    <memory>
    <memory_resource>
    <mutex>
    <optional>
    <set>
    <span>
    <sstream>
    <stdexcept>
    <string>
    <string_view>
    <system_error>
    <thread>
    <variant>
    <vector>
)

# millpond_precompiled_headers(<name> [<header>...] [LINK <target>...]): a target whose precompiled headers, these and
# the above, others may take by REUSE_FROM.
function(millpond_precompiled_headers name)
    cmake_parse_arguments(P "" "" "LINK" ${ARGN})
    # A target needs a source; its headers are what is wanted.
    file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "\n")
    add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    target_link_libraries(${name} PRIVATE ${P_LINK})
    target_precompile_headers(${name} PRIVATE ${P_UNPARSED_ARGUMENTS} ${MILLPOND_PRECOMPILED})
endfunction()

# millpond_cold(<target> <regex>): in Release, -O1 for those sources of the target whose path in its folder matches.
# They read settings, print and report; optimizing them further costs a third of their compile time.
function(millpond_cold target regex)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "${regex}")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()
