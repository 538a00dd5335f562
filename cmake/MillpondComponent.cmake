# millpond_component(NAME <component> [STANDARD 20|23] [SOURCES <file>...] [USES <component>...])
#
# Declares one component of the library as the target millpond_<component>, alias millpond::<component>. Without SOURCES
# it is header-only. Its public headers are all of include/millpond/<component>; each must compile alone, which the
# target millpond_<component>_verify_interface_header_sets checks. USES: the components below it (tools/layers.txt).
function(millpond_component)
    cmake_parse_arguments(C "" "NAME;STANDARD" "SOURCES;USES" ${ARGN})
    if(NOT C_STANDARD)
        set(C_STANDARD 23)
    endif()
    set(target millpond_${C_NAME})
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/millpond/${C_NAME}/*.hpp")
    if(C_SOURCES)
        add_library(${target} ${C_SOURCES}) # static, or shared with BUILD_SHARED_LIBS
        set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
        set(scope PUBLIC)
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    add_library(millpond::${C_NAME} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${C_NAME} VERIFY_INTERFACE_HEADER_SETS ON)
    target_compile_features(${target} ${scope} cxx_std_${C_STANDARD})
    target_sources(
        ${target}
        ${scope}
        FILE_SET HEADERS
        BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
        FILES ${headers}
    )
    list(TRANSFORM C_USES PREPEND millpond:: OUTPUT_VARIABLE uses)
    target_link_libraries(${target} ${scope} ${uses})
    if(NOT PROJECT_IS_TOP_LEVEL)
        # In another's build only what is linked gets built.
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(C_SOURCES AND TARGET millpond_precompiled_std)
        target_precompile_headers(${target} REUSE_FROM millpond_precompiled_std)
    endif()
    set_property(GLOBAL APPEND PROPERTY MILLPOND_DECLARED ${C_NAME})
    set_property(GLOBAL APPEND PROPERTY MILLPOND_USED ${C_USES})
endfunction()

# millpond_tests(COMPONENT <component> SOURCES <file>... [LINK <target>...] [OTHER_FLAGS] [EACH_ALONE])
#
# Builds the test program of a component, millpond_<component>_tests; each of its tests is a ctest with the component's label.
# OTHER_FLAGS: it is compiled with another standard or optimization than the other tests. EACH_ALONE: none of its
# files is compiled together with another, because they are few or have the same names.
function(millpond_tests)
    cmake_parse_arguments(T "OTHER_FLAGS;EACH_ALONE" "COMPONENT" "SOURCES;LINK" ${ARGN})
    set(target millpond_${T_COMPONENT}_tests)
    file(GLOB_RECURSE present RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *_test.cpp)
    file(READ CMakeLists.txt listed)
    foreach(test IN LISTS present)
        string(FIND "${listed}" "${test}" place)
        if(place EQUAL -1)
            message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt does not list ${test}")
        endif()
    endforeach()
    add_executable(${target} ${T_SOURCES})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE ${T_LINK} GTest::gmock_main)
    if(T_OTHER_FLAGS)
        target_precompile_headers(${target} PRIVATE <gmock/gmock.h> ${MILLPOND_PRECOMPILED})
    else()
        target_precompile_headers(${target} REUSE_FROM millpond_precompiled_gmock)
    endif()
    # Without values behind the names: gtest prints some as bytes, which differ from run to run.
    gtest_discover_tests(${target} TEST_PREFIX "${T_COMPONENT}." NO_PRETTY_VALUES
                         PROPERTIES LABELS ${T_COMPONENT} TIMEOUT 300 DISCOVERY_TIMEOUT 60)
    if(NOT T_EACH_ALONE)
        # At the end of the component's folder, when its files have their properties.
        cmake_language(EVAL CODE "cmake_language(DEFER CALL millpond_together ${target})")
    endif()
endfunction()
