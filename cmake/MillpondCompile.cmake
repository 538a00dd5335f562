# Shortens the build: precompiled headers, several files in one unit, and less optimization off the hot paths.

# Standard headers that most files of the project include; parsing them was half of a small file's time. The files
# include what they use nevertheless: tools/lint compiles them without precompiled headers.
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

# millpond_precompiled_headers(<name> [<header>...] [LINK <target>...]): a target with these and the above headers
# precompiled, for other targets' REUSE_FROM.
function(millpond_precompiled_headers name)
    cmake_parse_arguments(P "" "" "LINK" ${ARGN})
    # A target needs a source.
    file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "\n")
    add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    target_link_libraries(${name} PRIVATE ${P_LINK})
    target_precompile_headers(${name} PRIVATE ${P_UNPARSED_ARGUMENTS} ${MILLPOND_PRECOMPILED})
endfunction()

# millpond_together(<target> [<regex>]): compiles several of its files in one unit, if their path in its folder matches:
# half of a small file's time is in headers and templates that its neighbours use too. Eight files, and four in Debug,
# where an edited file should not recompile many others. Files with different options are not combined, nor files with
# definitions. CMake's UNITY_BUILD combines no file with options, and so none that millpond_cold names
# (docs/decisions/build-time.md). The preset tsan has it OFF, which detects missing includes of this project's headers.
option(MILLPOND_TOGETHER "Compile several files of the program and of the tests in one unit" ${PROJECT_IS_TOP_LEVEL})
function(millpond_together target)
    if(NOT MILLPOND_TOGETHER)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    set(apart "")
    set(groups "")
    foreach(source IN LISTS sources)
        get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
        get_source_file_property(options "${source}" COMPILE_OPTIONS)
        get_source_file_property(generated "${source}" GENERATED)
        if(definitions OR generated OR NOT source MATCHES "\\.cpp$" OR (ARGC GREATER 1 AND NOT source MATCHES "${ARGV1}"))
            list(APPEND apart "${source}")
            continue()
        endif()
        if(NOT options)
            set(options "") # it has none: NOTFOUND
        endif()
        string(MAKE_C_IDENTIFIER "group_${options}" group)
        if(NOT group IN_LIST groups)
            list(APPEND groups ${group})
            set(${group}_options ${options})
        endif()
        list(APPEND ${group} "${source}")
    endforeach()
    set(most 8)
    if(CMAKE_BUILD_TYPE STREQUAL "Debug")
        set(most 4)
    endif()
    set(number 0)
    foreach(group IN LISTS groups)
        while(${group})
            list(SUBLIST ${group} 0 ${most} unit)
            list(LENGTH unit count)
            foreach(source IN LISTS unit)
                list(POP_FRONT ${group})
            endforeach()
            if(count EQUAL 1)
                list(APPEND apart "${unit}")
                continue()
            endif()
            set(content "")
            foreach(source IN LISTS unit)
                file(REAL_PATH "${source}" path)
                file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
                string(APPEND content "#include \"${path}\"\n")
            endforeach()
            math(EXPR number "${number} + 1")
            set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_together_${number}.cpp")
            file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
            # A local name may shadow a neighbour's global one, and g++ takes included sources for headers.
            set(quiet -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
            set_property(SOURCE "${file}" PROPERTY COMPILE_OPTIONS ${quiet} ${${group}_options})
            set_property(SOURCE "${file}" PROPERTY INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}")
            list(APPEND apart "${file}")
        endwhile()
    endforeach()
    set_property(TARGET ${target} PROPERTY SOURCES ${apart})
endfunction()

# millpond_cold(<target> <regex>): in Release, -O1 for those sources of the target whose path in its folder matches.
# They read settings, print and report; further optimization would cost a third of their compile time.
function(millpond_cold target regex)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "${regex}")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()
