# Puts the pages of the daemons into the program: their files in web/, and a chart library.

# millpond_bundle(<module>): MODULE.js in the build folder, made of web/MODULE.js and all that it imports.
function(millpond_bundle module)
    file(GLOB modules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/*.js")
    set(script "${PROJECT_SOURCE_DIR}/cmake/bundle_modules.cmake")
    add_custom_command(
        OUTPUT ${module}.js
        COMMAND ${CMAKE_COMMAND} "-DOUT=${module}.js" "-DENTRY=${PROJECT_SOURCE_DIR}/web/${module}.js" -P "${script}"
        DEPENDS ${modules} "${script}"
        VERBATIM
    )
endfunction()

# millpond_embed(<target> HEADER <file> NAMESPACE <name> FILES <path|type|file>...): adds the source behind find_asset of
# the header, which has these files and those of the global property MILLPOND_SHARED_FILES, the service's.
function(millpond_embed target)
    cmake_parse_arguments(PARSE_ARGV 1 P "" "HEADER;NAMESPACE" "FILES")
    get_property(shared GLOBAL PROPERTY MILLPOND_SHARED_FILES)
    set(files ${P_FILES} ${shared})
    list(TRANSFORM files REPLACE "^.*\\|" "")
    set(script "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake")
    add_custom_command(
        OUTPUT assets.cpp
        COMMAND ${CMAKE_COMMAND} "-DOUT=assets.cpp" "-DHEADER=${P_HEADER}" "-DNAMESPACE=${P_NAMESPACE}" "-DFILES=${P_FILES}"
                "-DSHARED=${shared}" -P "${script}"
        DEPENDS ${files} "${script}"
        VERBATIM
    )
    target_sources(${target} PRIVATE assets.cpp)
endfunction()
