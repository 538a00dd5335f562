# Install rules: `cmake --install build/release --prefix DIR`, then find_package(millpond COMPONENTS memory).
include(CMakePackageConfigHelpers)
find_package(OpenSSL 3.0 QUIET)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/millpond)
get_property(rooms GLOBAL PROPERTY MILLPOND_ROOMS)

# One export set a room: a consumer who asks for `memory` loads the files of core and memory, and nothing else.
foreach(room IN LISTS rooms)
    install(
        TARGETS millpond_${room}
        EXPORT millpond-${room}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millpond_development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT millpond_development
    )
    install(
        EXPORT millpond-${room}
        NAMESPACE millpond::
        DESTINATION ${package_dir}
        COMPONENT millpond_development
    )
    get_target_property(kind millpond_${room} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
        get_target_property(links millpond_${room} INTERFACE_LINK_LIBRARIES)
    else()
        get_target_property(links millpond_${room} LINK_LIBRARIES)
    endif()
    set(below "")
    foreach(link IN LISTS links)
        if(link MATCHES "^millpond::(.+)$")
            list(APPEND below ${CMAKE_MATCH_1})
        endif()
    endforeach()
    string(APPEND room_lines "set(_millpond_${room}_uses ${below})\n")
endforeach()

# What needs a third-party library is a separate component: only its users must have that library.
set(parts "")
set(part_lines "")
foreach(part IN ITEMS fix_xml quickfix)
    if(NOT TARGET millpond_${part})
        continue()
    endif()
    list(APPEND parts ${part})
    string(APPEND part_lines "set(_millpond_${part}_uses fix)\n")
    set_target_properties(millpond_${part} PROPERTIES EXPORT_NAME ${part})
    install(
        TARGETS millpond_${part}
        EXPORT millpond-${part}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millpond_development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT millpond_development
    )
    install(EXPORT millpond-${part} NAMESPACE millpond:: DESTINATION ${package_dir} COMPONENT millpond_development)
endforeach()
list(JOIN parts " " MILLPOND_PART_LIST)

list(JOIN rooms " " MILLPOND_ROOM_LIST)
set(MILLPOND_ROOM_LINES "${room_lines}${part_lines}")
configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/millpond-config.cmake.in"
    "${PROJECT_BINARY_DIR}/millpond-config.cmake"
    INSTALL_DESTINATION ${package_dir}
)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/millpond-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(
    FILES "${PROJECT_BINARY_DIR}/millpond-config.cmake" "${PROJECT_BINARY_DIR}/millpond-config-version.cmake"
    DESTINATION ${package_dir}
    COMPONENT millpond_development
)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT millpond_development)
