vcpkg_download_distfile(archive URLS "@URL@" FILENAME "millpond-@VERSION@-library.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

set(components "memory,queue")
if("all" IN_LIST FEATURES)
    set(components "")
endif()
vcpkg_cmake_configure(
    SOURCE_PATH "${source}"
    OPTIONS "-DMILLPOND_COMPONENTS=${components}" -DMILLPOND_BUILD_APPS=OFF -DMILLPOND_BUILD_TESTS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME millpond CONFIG_PATH lib/cmake/millpond)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
