# What makes the build of the program shorter: headers parsed once, and less optimization where no message passes.

# Standard headers and {fmt}, which almost every file of the targets below includes; half of a small file's time was
# their parsing. The files still include what they use: tools/lint compiles them without this.
function(millpond_precompiled_headers)
    # A target needs a source; its headers are what is wanted.
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/precompiled.cpp" CONTENT "\n")
    add_library(millpond_precompiled OBJECT "${PROJECT_BINARY_DIR}/precompiled.cpp")
    target_link_libraries(millpond_precompiled PRIVATE fmt::fmt)
    target_precompile_headers(
        millpond_precompiled
        PRIVATE
            <fmt/format.h>
            <algorithm>
            <array>
            <atomic>
            <chrono>
            <filesystem>
            <functional>
            <map>
            <memory>
            <optional>
            <span>
            <stdexcept>
            <string>
            <string_view>
            <system_error>
            <thread>
            <variant>
            <vector>
    )
endfunction()

# millpond_cold(<target> <regex>): in Release, -O1 for those sources of the target whose path in its folder matches.
# They read settings, print and report; optimizing them further costs a third of their compile time.
function(millpond_cold target regex)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "${regex}")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()
