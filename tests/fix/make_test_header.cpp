// make_test_header FILE: writes the header generated from the tests' small dictionary.
#include <fstream>

#include <millpond/fix/header_generator.hpp>

#include "tests/fix/small_dictionary.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::ofstream file{argv[1]};
    file << millpond::fix::generate_header(millpond::fix::small_dictionary(), {.name_space = "test::small"});
    return file.flush() ? 0 : 1;
}
