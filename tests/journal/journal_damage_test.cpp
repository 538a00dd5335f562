#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "tests/journal/journal_fixture.hpp"

namespace millpond::journal {
namespace {

class JournalDamageTest : public JournalTest {
protected:
    static void overwrite(const std::filesystem::path& path, std::uint64_t offset, const std::string& bytes) {
        std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(static_cast<std::streamoff>(offset));
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        ASSERT_TRUE(file.good());
    }
    [[nodiscard]] std::filesystem::path first_segment() const { return list_segments(folder_).front().path; }
    void write(std::uint64_t last) {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        append(writer, 1, last);
    }
    static std::string message_of(const std::filesystem::path& path) {
        try {
            SegmentReader reader{path};
        } catch (const JournalError& error) {
            return error.what();
        }
        return "accepted";
    }
};

TEST_F(JournalDamageTest, AChangedByteCostsRecordsUpToTheNextIndexedPlaceAndSaysWhich) {
    write(5'000);
    const auto damaged_at = data_offset(kSegmentBytes) + 100 * kRecordBytes<feed::Quote> + 20;
    overwrite(first_segment(), damaged_at, "?");
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    const auto lost = delivered.all<LostRecord>();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].reason, LostReason::damaged);
    EXPECT_EQ(lost[0].first, 101U);
    EXPECT_LE(lost[0].count(), kIndexBlockBytes / kRecordBytes<feed::Quote> + 1);
    const auto quotes = delivered.all<feed::Quote>();
    EXPECT_EQ(quotes.size() + lost[0].count(), 5'000U);
    EXPECT_EQ(quotes[99].feed_sequence, 100U);
    EXPECT_EQ(quotes[100].feed_sequence, lost[0].last + 1);
    EXPECT_EQ(quotes.back().feed_sequence, 5'000U);
}

TEST_F(JournalDamageTest, DamageInTheLastBlockCostsWhatFollowsAndTheCountIsExact) {
    write(50);
    overwrite(first_segment(), data_offset(kSegmentBytes) + 40 * kRecordBytes<feed::Quote> + 9, "?");
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_EQ(delivered.all<feed::Quote>().size(), 40U);
    ASSERT_EQ(delivered.all<LostRecord>().size(), 1U);
    EXPECT_EQ(delivered.all<LostRecord>()[0].first, 41U);
    EXPECT_EQ(delivered.all<LostRecord>()[0].last, 50U);
}

TEST_F(JournalDamageTest, AFileThatIsNoSegmentIsRefusedWithWhatWasFound) {
    write(5);
    const auto path = first_segment();
    overwrite(path, 8, std::string{"\x07\0\0\0", 4});
    EXPECT_NE(message_of(path).find("layout version 7; this build reads version 1"), std::string::npos);
    overwrite(path, 0, "ELF?");
    EXPECT_NE(message_of(path).find("magic differs"), std::string::npos);
    std::filesystem::resize_file(path, 100);
    EXPECT_NE(message_of(path).find("100 bytes"), std::string::npos);
}

TEST_F(JournalDamageTest, AFileThatWasCutOffIsRefused) {
    write(5);
    std::filesystem::resize_file(first_segment(), kSegmentBytes / 2);
    EXPECT_NE(message_of(first_segment()).find("cut off"), std::string::npos);
}

TEST_F(JournalDamageTest, RandomBytesNeverCrashAReaderAndWhatItGivesWasWritten) {
    write(3'000);
    const auto path = first_segment();
    std::ifstream in{path, std::ios::binary};
    const std::string good{std::istreambuf_iterator<char>{in}, {}};
    std::mt19937_64 random{11};
    for (int round = 0; round < 60; ++round) {
        auto bad = good;
        for (int i = 0; i < 1 + round; ++i) {
            // The fields of the header that decide about acceptance are another test's.
            const auto offset = 120 + random() % (bad.size() / 3);
            bad[offset] = static_cast<char>(random());
        }
        overwrite(path, 0, bad);
        try {
            JournalReader reader{folder_};
            Delivered delivered{reader};
            delivered.drain();
            for (const auto& quote : delivered.all<feed::Quote>()) {
                ASSERT_EQ(quote.bid_price, static_cast<feed::Price>(quote.feed_sequence));
                ASSERT_EQ(quote.bid_size, quote.feed_sequence * 3);
            }
            reader.seek(1'500);
            reader.seek_time(1'000'000);
        } catch (const JournalError&) {
            continue;  // it hit `end`
        }
    }
}

}  // namespace
}  // namespace millpond::journal
