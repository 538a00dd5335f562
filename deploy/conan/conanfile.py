"""Conan 2 recipe of millpond's C++ library. conandata.yml has the archive's address and sum; `make release` writes both."""
import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get


class Millpond(ConanFile):
    name = "millpond"
    license = "MIT"
    description = "Memory pools, rings, market-data decoders and a FIX engine for trading systems"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    # Components to build, separated by commas, with those that they use; empty: all.
    options = {"components": ["", "ANY"]}
    default_options = {"components": ""}

    def layout(self):
        cmake_layout(self, src_folder="src")

    def validate(self):
        small = set(str(self.options.components).split(",")) <= {"core", "memory", "queue"}
        check_min_cppstd(self, "20" if small else "23")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["MILLPOND_COMPONENTS"] = str(self.options.components)
        toolchain.cache_variables["MILLPOND_BUILD_APPS"] = False
        toolchain.cache_variables["MILLPOND_BUILD_TESTS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The package's own CMake files have the targets millpond::COMPONENT.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "millpond")]
