# millpond_room(NAME <room> [STANDARD 20|23] [SOURCES <file>...] [USES <room>...])
#
# Declares one room of the library as the target millpond_<room>, alias millpond::<room>. A room without SOURCES is
# header-only. Its public headers are all of include/millpond/<room>; each must compile alone, which the target
# millpond_<room>_verify_interface_header_sets checks. USES names the rooms below it (tools/layers.txt says which may).
function(millpond_room)
    cmake_parse_arguments(ROOM "" "NAME;STANDARD" "SOURCES;USES" ${ARGN})
    if(NOT ROOM_STANDARD)
        set(ROOM_STANDARD 23)
    endif()
    set(target millpond_${ROOM_NAME})
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/millpond/${ROOM_NAME}/*.hpp")
    if(ROOM_SOURCES)
        add_library(${target} STATIC ${ROOM_SOURCES})
        set(scope PUBLIC)
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    add_library(millpond::${ROOM_NAME} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${ROOM_NAME} VERIFY_INTERFACE_HEADER_SETS ON)
    target_compile_features(${target} ${scope} cxx_std_${ROOM_STANDARD})
    target_sources(
        ${target}
        ${scope}
        FILE_SET HEADERS
        BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
        FILES ${headers}
    )
    list(TRANSFORM ROOM_USES PREPEND millpond:: OUTPUT_VARIABLE uses)
    target_link_libraries(${target} ${scope} ${uses})
    if(NOT PROJECT_IS_TOP_LEVEL)
        # In another's build only what is linked gets built.
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(ROOM_SOURCES AND TARGET millpond_precompiled_std)
        target_precompile_headers(${target} REUSE_FROM millpond_precompiled_std)
    endif()
    set_property(GLOBAL APPEND PROPERTY MILLPOND_ROOMS ${ROOM_NAME})
endfunction()

# millpond_tests(ROOM <room> SOURCES <file>... [LINK <target>...] [OTHER_FLAGS] [EACH_ALONE])
#
# One test program a room, millpond_<room>_tests; every test in it becomes a ctest of its own, labelled with the room.
# OTHER_FLAGS: it is compiled with another standard or optimization than the other tests. EACH_ALONE: none of its
# files is compiled together with another, because they are few or have the same names.
function(millpond_tests)
    cmake_parse_arguments(T "OTHER_FLAGS;EACH_ALONE" "ROOM" "SOURCES;LINK" ${ARGN})
    set(target millpond_${T_ROOM}_tests)
    add_executable(${target} ${T_SOURCES})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE ${T_LINK} GTest::gmock_main)
    if(T_OTHER_FLAGS)
        target_precompile_headers(${target} PRIVATE <gmock/gmock.h> ${MILLPOND_PRECOMPILED})
    else()
        target_precompile_headers(${target} REUSE_FROM millpond_precompiled_gmock)
    endif()
    # Without values behind the names: gtest prints some as bytes, which differ from run to run.
    gtest_discover_tests(${target} TEST_PREFIX "${T_ROOM}." NO_PRETTY_VALUES
                         PROPERTIES LABELS ${T_ROOM} TIMEOUT 300 DISCOVERY_TIMEOUT 60)
    if(NOT T_EACH_ALONE)
        # At the end of the room's folder, when its files have their properties.
        cmake_language(EVAL CODE "cmake_language(DEFER CALL millpond_together ${target})")
    endif()
endfunction()
