# Install rules: `cmake --install build/release --prefix DIR`, then find_package(millpond COMPONENTS memory).
include(CMakePackageConfigHelpers)
find_package(OpenSSL 3.0 QUIET)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/millpond)
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
get_property(components GLOBAL PROPERTY MILLPOND_DECLARED)

# One export set a component: a consumer who asks for `memory` loads the files of core and memory, and nothing else.
foreach(component IN LISTS components)
    install(
        TARGETS millpond_${component}
        EXPORT millpond-${component}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millpond_development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millpond_development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT millpond_development
    )
    install(
        EXPORT millpond-${component}
        NAMESPACE millpond::
        DESTINATION ${package_dir}
        COMPONENT millpond_development
    )
    get_target_property(kind millpond_${component} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
        get_target_property(links millpond_${component} INTERFACE_LINK_LIBRARIES)
    else()
        get_target_property(links millpond_${component} LINK_LIBRARIES)
    endif()
    set(below "")
    foreach(link IN LISTS links)
        if(link MATCHES "^millpond::(.+)$")
            list(APPEND below ${CMAKE_MATCH_1})
        endif()
    endforeach()
    string(APPEND uses_lines "set(_millpond_${component}_uses ${below})\n")
    # For pkg-config: static libraries, so what they use is linked too.
    list(TRANSFORM below PREPEND "millpond-" OUTPUT_VARIABLE required)
    if(component MATCHES "^(engine|tls)$" AND OPENSSL_FOUND)
        list(APPEND required openssl)
    elseif(component STREQUAL files)
        list(APPEND required $<$<BOOL:${ISAL_FOUND}>:libisal> $<$<BOOL:${ZSTD_FOUND}>:libzstd>)
    elseif(component STREQUAL net)
        list(APPEND required $<$<BOOL:${LIBXDP_FOUND}>:libxdp> $<$<BOOL:${LIBXDP_FOUND}>:libbpf>)
    endif()
    set(library $<$<NOT:$<STREQUAL:${kind},INTERFACE_LIBRARY>>:-lmillpond_${component}>)
    file(
        GENERATE
        OUTPUT "${PROJECT_BINARY_DIR}/pkgconfig/millpond-${component}.pc"
        CONTENT
            "# Relative to this file, so that the folder may be moved.
prefix=\${pcfiledir}/${to_prefix}
Name: millpond-${component}
Description: component ${component} of millpond; C++20 for core, memory and queue, C++23 for the others
Version: ${PROJECT_VERSION}
Requires: $<JOIN:${required}, >
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} ${library} -pthread
"
    )
endforeach()
install(
    DIRECTORY "${PROJECT_BINARY_DIR}/pkgconfig"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT millpond_development
    FILES_MATCHING
    PATTERN "*.pc"
)

# Parts that need a third-party library are separate components: only their users need that library.
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
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millpond_development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT millpond_development
    )
    install(EXPORT millpond-${part} NAMESPACE millpond:: DESTINATION ${package_dir} COMPONENT millpond_development)
endforeach()
list(JOIN parts " " MILLPOND_PART_LIST)

list(JOIN components " " MILLPOND_COMPONENT_LIST)
set(MILLPOND_USES_LINES "${uses_lines}${part_lines}")
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
install(
    FILES LICENSE README.md CHANGELOG.md
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libmillpond-dev"
    COMPONENT millpond_development
)
