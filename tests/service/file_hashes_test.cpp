#include "service/file_hashes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::service {
namespace {

constexpr std::size_t kKeyBytes = 6'000;  // more than one block

/// A byte of the key, which the test never has in memory next to others.
char key_byte(std::size_t i) noexcept { return static_cast<char>(' ' + (i * i * 7 + i * 31) % 95); }

void write_key(const std::string& path) {
    const core::Descriptor file{::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600)};
    for (std::size_t i = 0; i < kKeyBytes; ++i) {
        const char byte = key_byte(i);
        ASSERT_EQ(::write(file.get(), &byte, 1), 1);
    }
}

/// Whether `bytes` contain any 24 bytes of the key that begin at a multiple of 100.
bool has_part_of_key(const std::vector<char>& bytes) {
    constexpr std::size_t kPart = 24;
    for (std::size_t from = 0; from + kPart <= kKeyBytes; from += 100) {
        const auto first = key_byte(from);
        for (auto at = std::ranges::find(bytes, first); at != bytes.end(); at = std::find(at + 1, bytes.end(), first)) {
            if (static_cast<std::size_t>(bytes.end() - at) < kPart) break;
            std::size_t same = 1;
            while (same < kPart && at[static_cast<std::ptrdiff_t>(same)] == key_byte(from + same)) ++same;
            if (same == kPart) return true;
        }
    }
    return false;
}

/// The heap and the stack of this process.
bool memory_has_part_of_key() {
    std::ifstream maps{"/proc/self/maps"};
    const core::Descriptor memory{::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
    for (std::string line; std::getline(maps, line);) {
        if (!line.ends_with("[heap]") && !line.ends_with("[stack]")) continue;
        std::size_t end_at = 0;
        const auto begin = std::stoull(line, &end_at, 16);
        const auto end = std::stoull(line.substr(end_at + 1), nullptr, 16);
        std::vector<char> bytes(end - begin);
        const auto got = ::pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin));
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        if (has_part_of_key(bytes)) return true;
    }
    return false;
}

class FileHashesTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("millpond-file-hashes-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

    std::filesystem::path folder_;
};

/// A new object, which has read nothing before.
std::string hash_of(const std::vector<std::string>& paths) { return FileHashes{}.of(paths); }

TEST_F(FileHashesTest, TheHashOfAFileLeavesNothingOfItInMemory) {
    write_key(path("key.pem"));
    const std::vector<std::string> files{path("none.pem"), path("key.pem")};
    ASSERT_FALSE(memory_has_part_of_key());
    EXPECT_EQ(hash_of(files), hash_of(files));
    EXPECT_FALSE(memory_has_part_of_key());
}

TEST_F(FileHashesTest, TheHashChangesWithEachFileAndWithTheirOrder) {
    const auto write = [&](const std::string& name, const std::string& text) { std::ofstream{path(name)} << text; };
    write("a", "one");
    write("b", "two");
    const auto hash = hash_of({path("a"), path("b")});
    EXPECT_EQ(hash, hash_of({path("a"), "", path("b")}));
    EXPECT_NE(hash, hash_of({path("b"), path("a")}));
    EXPECT_NE(hash, hash_of({path("a"), path("b"), path("a")}));
    std::string text(10'000, 't');
    write("b", text);
    const auto longer = hash_of({path("a"), path("b")});
    EXPECT_NE(hash, longer);
    text.back() = 'u';
    write("b", text);
    EXPECT_NE(longer, hash_of({path("a"), path("b")}));
    write("b", "");
    const auto is_empty = hash_of({path("b")});
    std::filesystem::remove(path("b"));
    EXPECT_NE(is_empty, hash_of({path("b")}));
}

TEST_F(FileHashesTest, PermissionsDoNotCount) {
    std::ofstream{path("a")} << "a";
    std::filesystem::permissions(path("a"), std::filesystem::perms{0600});
    const auto before = hash_of({path("a")});
    std::filesystem::permissions(path("a"), std::filesystem::perms{0644});
    EXPECT_EQ(before, hash_of({path("a")}));
}

TEST_F(FileHashesTest, AFolderCountsAsItsFiles) {
    const auto write = [&](const std::string& name, const std::string& text) { std::ofstream{path(name)} << text; };
    std::filesystem::create_directories(path("ca"));
    write("ca/one.pem", "1");
    const auto one = hash_of({path("ca")});
    write("ca/two.pem", "2");
    const auto two = hash_of({path("ca")});
    EXPECT_NE(one, two);
    write("ca/one.pem", "3");
    EXPECT_NE(two, hash_of({path("ca")}));
}

}  // namespace
}  // namespace millpond::service
