#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <millpond/files/unpacked_file.hpp>

#include "tests/support/scratch_file.hpp"

namespace millpond::files {
namespace {

using test::scratch_name;
using test::ScratchFile;
using ::testing::HasSubstr;

constexpr std::uint64_t kAny = std::uint64_t{1} << 30U;

std::string contents_of(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Bytes with runs of zeros that begin and end within pages.
std::string made_up(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) {
        if (i / 10'000 % 3 != 1) text[i] = static_cast<char>(i * 7 % 251);
    }
    return text;
}

class UnpackedFiles : public ::testing::Test {
protected:
    UnpackedFiles() { std::filesystem::create_directory(folder_); }
    ~UnpackedFiles() override { std::filesystem::remove_all(folder_); }

    /// The contents compressed by gzip.
    static std::string packed(const std::string& text) {
        const ScratchFile plain{scratch_name("plain"), text};
        const auto path = plain.path() + ".gz";
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        EXPECT_EQ(std::system(("gzip -c '" + plain.path() + "' > '" + path + "'").c_str()), 0);
        auto bytes = contents_of(path);
        std::filesystem::remove(path);
        return bytes;
    }

    std::filesystem::path folder_{::testing::TempDir() + scratch_name("unpacked")};
};

TEST_F(UnpackedFiles, HoldWhatWasPackedAndAreGoneAfterwards) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5'000}, std::size_t{3'000'000}}) {
        // With and without zeros at the end, the length must be right.
        for (const auto& text : {made_up(bytes), made_up(bytes) + std::string(20'000, '\0')}) {
            const ScratchFile file{scratch_name("0001.mpj.gz"), packed(text)};
            EXPECT_TRUE(is_packed(file.path()));
            std::filesystem::path made;
            {
                UnpackedFile unpacked{file.path(), folder_, kAny};
                while (unpacked.step()) {
                }
                EXPECT_FALSE(unpacked.step());
                made = unpacked.path();
                EXPECT_TRUE(contents_of(made) == text);
                EXPECT_EQ(unpacked.damage(), "");
                EXPECT_EQ(unpacked.packed_offset(), std::filesystem::file_size(file.path()));
                EXPECT_EQ(made.filename(), std::filesystem::path{file.path()}.stem());
                struct stat facts{};
                ASSERT_EQ(stat(made.parent_path().c_str(), &facts), 0);
                EXPECT_EQ(facts.st_mode & 0777U, 0700U);
            }
            EXPECT_TRUE(std::filesystem::is_empty(folder_));
        }
    }
}

TEST_F(UnpackedFiles, PagesOfZerosUseNoDiskSpace) {
    std::string zeros(64U << 20U, '\0');
    zeros += "end";
    const ScratchFile file{scratch_name("zeros.gz"), packed(zeros)};
    UnpackedFile unpacked{file.path(), folder_, kAny};
    while (unpacked.step()) {
    }
    struct stat facts{};
    ASSERT_EQ(stat(unpacked.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_size, (64 << 20) + 3);
    EXPECT_LT(facts.st_blocks * 512, 1 << 20);
}

TEST_F(UnpackedFiles, ACutFileGivesItsContentsAndTheOffsetOfTheCut) {
    const auto text = made_up(100'000);
    const auto whole = packed(text);
    const ScratchFile file{scratch_name("cut.gz"), whole.substr(0, whole.size() / 2)};
    UnpackedFile unpacked{file.path(), folder_, kAny};
    while (unpacked.step()) {
    }
    const auto found = contents_of(unpacked.path());
    EXPECT_FALSE(found.empty());
    EXPECT_TRUE(text.starts_with(found));
    EXPECT_THAT(unpacked.damage(),
                HasSubstr("'" + file.path() + "', compressed byte " + std::to_string(whole.size() / 2)));
}

TEST_F(UnpackedFiles, ContentsBeyondTheLimitAreCutOffAndNamed) {
    const auto text = made_up(100'000);
    const ScratchFile file{scratch_name("long.gz"), packed(text)};
    for (const std::uint64_t most : {0U, 1U, 4'096U, 99'999U}) {
        UnpackedFile unpacked{file.path(), folder_, most};
        while (unpacked.step()) {
        }
        EXPECT_TRUE(contents_of(unpacked.path()) == text.substr(0, most));
        EXPECT_THAT(unpacked.damage(), HasSubstr("longer than " + std::to_string(most) + " bytes"));
    }
    UnpackedFile unpacked{file.path(), folder_, text.size()};
    while (unpacked.step()) {
    }
    EXPECT_EQ(unpacked.damage(), "");
}

TEST_F(UnpackedFiles, AFileThatIsNotCompressedIsRecognised) {
    const ScratchFile plain{scratch_name("plain"), "plain text"};
    EXPECT_FALSE(is_packed(plain.path()));
    const ScratchFile empty{scratch_name("empty"), ""};
    EXPECT_FALSE(is_packed(empty.path()));
    EXPECT_THROW(static_cast<void>(is_packed(plain.path() + ".no")), std::system_error);
}

TEST_F(UnpackedFiles, AMissingFolderIsNamed) {
    const ScratchFile file{scratch_name("a.gz"), packed("a")};
    try {
        const UnpackedFile unpacked{file.path(), folder_ / "missing", kAny};
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), HasSubstr((folder_ / "missing").string()));
    }
}

/// A file system of this size, if the process may mount one.
class SmallDisk {
public:
    SmallDisk(std::filesystem::path folder, const std::string& size) : folder_(std::move(folder)) {
        is_there_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    }
    ~SmallDisk() {
        if (is_there_) umount(folder_.c_str());
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    [[nodiscard]] bool is_there() const noexcept { return is_there_; }

private:
    std::filesystem::path folder_;
    bool is_there_;
};

TEST_F(UnpackedFiles, AFullFolderIsAnErrorWithBothPathsTheOffsetAndAdviceAndLeavesNoFile) {
    const SmallDisk disk{folder_, "64k"};
    if (!disk.is_there()) GTEST_SKIP() << "may not mount a tmpfs (root needed)";
    const auto expect_failure = [&](const std::string& contents) {
        const ScratchFile file{scratch_name("0001.mpj.gz"), packed(contents)};
        UnpackedFile unpacked{file.path(), folder_, kAny};
        for (int again = 0; again < 2; ++again) {
            try {
                while (unpacked.step()) {
                }
                FAIL() << "it fits";
            } catch (const std::system_error& error) {
                EXPECT_EQ(error.code().value(), ENOSPC);
                const std::string said{error.what()};
                EXPECT_THAT(said, HasSubstr("cannot unpack '" + file.path() + "' into '" + folder_.string() +
                                            "': cannot write byte "));
                EXPECT_THAT(said, HasSubstr("choose another folder for temporary files (TMPDIR)"));
            }
            EXPECT_TRUE(std::filesystem::is_empty(folder_));
        }
    };
    expect_failure(std::string(200'000, 'x'));
    // The pages that a mapping reads must be present: without them the process would end.
    expect_failure("begin" + std::string(200'000, '\0'));
    const ScratchFile file{scratch_name("fits.gz"), packed("begin" + std::string(30'000, '\0'))};
    UnpackedFile unpacked{file.path(), folder_, kAny};
    while (unpacked.step()) {
    }
    struct stat facts{};
    ASSERT_EQ(stat(unpacked.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_size, 30'005);
    EXPECT_GE(facts.st_blocks * 512, 30'005);
}

}  // namespace
}  // namespace millpond::files
