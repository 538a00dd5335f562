#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <millpond/files/file_format_error.hpp>
#include <millpond/files/file_kind.hpp>

#include "tests/support/scratch_file.hpp"

namespace millpond::files {
namespace {

using namespace std::string_view_literals;
using millpond::test::ScratchFile;
using ::testing::HasSubstr;

TEST(FileKind, IsDetectedByTheFirstBytes) {
    const ScratchFile itch{"millpond_kind.itch", "\0\14S\0\0\0\0\0\0\0\0\0\0O"sv};
    EXPECT_EQ(file_kind(itch.path()), FileKind::itch);
    const ScratchFile pcap{"millpond_kind.pcap", "\xD4\xC3\xB2\xA1rest"sv};
    EXPECT_EQ(file_kind(pcap.path()), FileKind::capture);
    const ScratchFile nanos{"millpond_kind_ns.pcap", "\xA1\xB2\x3C\x4Drest"sv};
    EXPECT_EQ(file_kind(nanos.path()), FileKind::capture);
    const ScratchFile journal{"millpond_kind.mpj", "MPJRNL\0\0"sv};
    EXPECT_EQ(file_kind(journal.path()), FileKind::journal);
}

TEST(FileKind, AFolderIsAJournal) {
    EXPECT_EQ(file_kind(std::filesystem::temp_directory_path().string()), FileKind::journal);
}

TEST(FileKind, AnyOtherFileIsRefusedByName) {
    for (const auto other : {""sv, "x"sv, "\0\14X"sv, "\0\14Xxxxxxxxxxxx"sv, "#!/bin/sh"sv}) {
        const ScratchFile file{"millpond_kind.txt", other};
        EXPECT_EQ(detect_file_kind(file.path()), std::nullopt);
        try {
            (void)file_kind(file.path());
            ADD_FAILURE() << "accepted";
        } catch (const FileFormatError& error) {
            EXPECT_THAT(
                error.what(),
                HasSubstr("millpond_kind.txt': neither a journal, a capture (pcap, pcapng) nor a file of ITCH"));
        }
    }
    EXPECT_THROW((void)file_kind("/no/such/file"), std::system_error);
}

}  // namespace
}  // namespace millpond::files
