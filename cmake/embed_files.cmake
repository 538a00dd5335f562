# cmake -DOUT=FILE.cpp -DHEADER=FILE.hpp -DNAMESPACE=millpond::x -DFILES="path|type|file;..." -DSHARED="path|type|file;..." -P embed_files.cmake
#
# Writes FILES into C++ source as the table behind find_asset of the header, each also compressed by gzip. In HTML files,
# the names of scripts and style sheets get their hashes: "page.js?v=HASH". SHARED: files of http::shared::find_asset,
# which is asked for other paths.
cmake_minimum_required(VERSION 3.25)
find_program(GZIP gzip REQUIRED)
set(otherwise nullptr)
if(SHARED)
    set(otherwise "http::shared::find_asset(path)")
endif()
set(bodies "")
set(entries "")
set(number 0)

# Appends a constant with the bytes of a file.
macro(append_bytes name file)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" escaped "${hex}")
    string(REGEX REPLACE "(\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..)" "\\1\"\n    \"" escaped "${escaped}")
    string(APPEND bodies "constexpr char ${name}[] =\n    \"${escaped}\";\n")
endmacro()

foreach(entry IN LISTS FILES SHARED)
    string(REPLACE "|" ";" parts "${entry}")
    list(GET parts 0 path)
    list(GET parts 2 file)
    file(SHA256 "${file}" hash_${path})
    string(SUBSTRING "${hash_${path}}" 0 16 hash_${path})
endforeach()
foreach(entry IN LISTS FILES)
    string(REPLACE "|" ";" parts "${entry}")
    list(GET parts 0 path)
    list(GET parts 1 type)
    list(GET parts 2 file)
    if(type STREQUAL "text/html")
        file(READ "${file}" html)
        string(REGEX MATCHALL "[a-z-]+\\.(js|css)" names "${html}")
        foreach(name IN LISTS names)
            string(REPLACE "\"${name}\"" "\"${name}?v=${hash_/${name}}\"" html "${html}")
        endforeach()
        set(file "${OUT}.html")
        file(WRITE "${file}" "${html}")
        set(hash_${path} "")  # asked for by its name alone
    endif()
    execute_process(COMMAND "${GZIP}" -9nc "${file}" OUTPUT_FILE "${OUT}.gz" COMMAND_ERROR_IS_FATAL ANY)
    append_bytes("kContent${number}" "${file}")
    append_bytes("kGzip${number}" "${OUT}.gz")
    string(APPEND entries "    {\"${path}\", \"${type}\", \"${hash_${path}}\", {kContent${number}, sizeof kContent${number} - 1}, {kGzip${number}, sizeof kGzip${number} - 1}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "#include \"${HEADER}\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"  // clang counts the bytes of a whole file

namespace ${NAMESPACE} {
namespace {

${bodies}
constexpr http::Asset kAssets[] = {
${entries}};

}  // namespace

const http::Asset* find_asset(std::string_view path) noexcept {
    for (const auto& asset : kAssets) {
        if (asset.path == path) return &asset;
    }
    return ${otherwise};
}

}  // namespace ${NAMESPACE}
")
