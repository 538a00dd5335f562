# cmake -DOUT=FILE.cpp -DHEADER=FILE.hpp -DNAMESPACE=millpond::x -DFILES="path|type|file;..." [-DELSE=EXPRESSION] -P embed_files.cmake
#
# Writes the files into C++ source as the table behind find_asset of the header. ELSE: its result for another path.
if(NOT DEFINED ELSE)
    set(ELSE nullptr)
endif()
set(bodies "")
set(entries "")
set(number 0)
foreach(entry IN LISTS FILES)
    string(REPLACE "|" ";" parts "${entry}")
    list(GET parts 0 path)
    list(GET parts 1 type)
    list(GET parts 2 file)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" escaped "${hex}")
    string(REGEX REPLACE "(\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..\\\\x..)" "\\1\"\n    \"" escaped "${escaped}")
    string(APPEND bodies "constexpr char kContent${number}[] =\n    \"${escaped}\";\n")
    string(APPEND entries "    {\"${path}\", \"${type}\", {kContent${number}, sizeof kContent${number} - 1}},\n")
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
    return ${ELSE};
}

}  // namespace ${NAMESPACE}
")
