#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/crc32c.hpp>
#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/segment_header.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/memory/region.hpp>

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
    static char byte_at(const std::filesystem::path& path, std::uint64_t offset) {
        std::ifstream file{path, std::ios::binary};
        file.seekg(static_cast<std::streamoff>(offset));
        return static_cast<char>(file.get());
    }
    [[nodiscard]] std::filesystem::path first_segment() const { return list_segments(folder_).front().path; }
    void write(std::uint64_t last) {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        append(writer, 1, last);
    }
    /// Two consecutive segments of `each` quotes, each with another instrument.
    void write_two(std::uint64_t each) {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        writer.name(0, {feed::Venue{"V"}, feed::Symbol{"S"}});
        append(writer, 1, each);
        ASSERT_TRUE(writer.service(0));
        ASSERT_TRUE(writer.begin_session());
        append(writer, each + 1, 2 * each);
    }
    /// The items that a reader delivers from the whole journal.
    struct Read {
        std::vector<feed::Quote> quotes;
        std::vector<LostRecord> lost;
        std::vector<std::string> faults;
        bool named;
    };
    [[nodiscard]] Read read() const {
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        return {delivered.all<feed::Quote>(), delivered.all<LostRecord>(), reader.drain_faults(),
                reader.instrument(0) != nullptr};
    }
    /// The five events from this record or time on.
    [[nodiscard]] std::vector<std::uint64_t> from_record(std::uint64_t record) const {
        JournalReader reader{folder_};
        reader.seek(record);
        return next_five(reader);
    }
    [[nodiscard]] std::vector<std::uint64_t> from_time(std::int64_t utc_ns) const {
        JournalReader reader{folder_};
        reader.select(utc_ns, std::nullopt);
        return next_five(reader);
    }
    static std::vector<std::uint64_t> next_five(JournalReader& reader) {
        Delivered delivered{reader};
        while (delivered.items.size() < 5 && reader.poll(delivered, 1) != 0) {
        }
        std::vector<std::uint64_t> found;
        for (const auto& item : delivered.items) {
            const auto* quote = std::get_if<feed::Quote>(&item.event);
            found.push_back(item.at.record);
            found.push_back(quote != nullptr ? quote->feed_sequence : 0);
            found.push_back(quote != nullptr && reader.instrument(quote->instrument) != nullptr ? 1 : 0);
        }
        return found;
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

/// Fails unless all records 1..last except `lost` are delivered unchanged, under their own numbers.
void expect_all_but(const std::filesystem::path& folder, std::uint64_t lost, std::uint64_t last) {
    JournalReader reader{folder};
    Delivered delivered{reader};
    delivered.drain();
    const auto losses = delivered.all<LostRecord>();
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_EQ(losses[0].reason, LostReason::damaged);
    EXPECT_EQ(losses[0].first, lost);
    EXPECT_EQ(losses[0].last, lost);
    std::uint64_t expected = 0;
    for (const auto& item : delivered.items) {
        ++expected;
        ASSERT_EQ(item.at.record, expected);
        if (expected == lost) continue;
        const auto& got = std::get<feed::Quote>(item.event);
        ASSERT_EQ(got.feed_sequence, expected);
        ASSERT_EQ(got.bid_size, expected * 3);
    }
    EXPECT_EQ(expected, last);
}

TEST_F(JournalDamageTest, AnyChangedByteOfARecordCostsThatRecordAlone) {
    write(5'000);
    constexpr auto kRecord = kRecordBytes<feed::Quote>;
    const auto path = first_segment();
    // In the middle, at the border of an index block, in the last block, and the last record.
    const auto border = (2 * kIndexBlockBytes - data_offset(kSegmentBytes)) / kRecord;
    for (const std::uint64_t record :
         {std::uint64_t{101}, border - 1, border, border + 1, border + 2, std::uint64_t{4'960}, std::uint64_t{5'000}}) {
        for (std::uint64_t byte = 0; byte < kRecord; ++byte) {
            const auto offset = data_offset(kSegmentBytes) + (record - 1) * kRecord + byte;
            const auto before = byte_at(path, offset);
            overwrite(path, offset, std::string(1, static_cast<char>(before ^ 0x10)));
            ASSERT_NO_FATAL_FAILURE(expect_all_but(folder_, record, 5'000)) << "record " << record << ", byte " << byte;
            overwrite(path, offset, std::string(1, before));
        }
    }
}

TEST_F(JournalDamageTest, ARecordOfAnotherKindIsDamagedThoughThatKindHasTheSameSize) {
    static_assert(kRecordBytes<feed::Quote> == kRecordBytes<feed::Band>);
    write(200);
    const auto path = first_segment();
    const auto offset = data_offset(kSegmentBytes) + 100 * kRecordBytes<feed::Quote>;
    const auto before = byte_at(path, offset);
    for (char kind = 0; kind <= static_cast<char>(RecordKind::checkpoint) + 1; ++kind) {
        if (kind == before) continue;
        overwrite(path, offset, std::string(1, kind));
        ASSERT_NO_FATAL_FAILURE(expect_all_but(folder_, 101, 200)) << "kind " << int{kind};
    }
}

TEST_F(JournalDamageTest, SeveralDamagedRecordsOfABlockKeepTheNumbersOfAllOthers) {
    write(5'000);
    constexpr auto kRecord = kRecordBytes<feed::Quote>;
    const auto at = [&](std::uint64_t record) { return data_offset(kSegmentBytes) + (record - 1) * kRecord; };
    overwrite(first_segment(), at(10) + 30, "?");
    overwrite(first_segment(), at(20) - 4, std::string(3 * kRecord, '?'));  // 19 to 22, and the commit word of 22
    overwrite(first_segment(), at(40), "????????");
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    std::uint64_t lost = 0;
    for (const auto& loss : delivered.all<LostRecord>()) lost += loss.count();
    EXPECT_EQ(lost, 6U);
    const auto quotes = delivered.all<feed::Quote>();
    EXPECT_EQ(quotes.size(), 4'994U);
    for (const auto& item : delivered.items) {
        const auto* quote = std::get_if<feed::Quote>(&item.event);
        // Between two damaged places of one block only the sum is known.
        if (quote != nullptr && (quote->feed_sequence < 10 || quote->feed_sequence > 40)) {
            ASSERT_EQ(item.at.record, quote->feed_sequence);
        }
    }
}

TEST_F(JournalDamageTest, ADamagedRecordOfASegmentThatGrowsCostsThatRecordAndTheRestIsReadAsItComes) {
    JournalWriter writer{options(), 0};
    writer.set_epoch(kEpoch);
    append(writer, 1, 10);
    overwrite(first_segment(), data_offset(kSegmentBytes) + 4 * kRecordBytes<feed::Quote> + 9, "?");
    overwrite(first_segment(), data_offset(kSegmentBytes) + 9 * kRecordBytes<feed::Quote> + 9, "?");
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_EQ(delivered.all<feed::Quote>().size(), 8U);
    append(writer, 11, 12);
    delivered.drain();
    EXPECT_EQ(delivered.all<feed::Quote>().size(), 10U);
    EXPECT_EQ(delivered.all<LostRecord>().size(), 2U);
    EXPECT_EQ(reader.next_record(), 13U);
}

TEST_F(JournalDamageTest, ADamagedNameNeverGivesAnInstrumentAnothersName) {
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        for (feed::InstrumentId id = 0; id < 3; ++id) {
            writer.name(id, {feed::Venue{"V"}, feed::Symbol{"S" + std::to_string(id)}});
        }
        append(writer, 1, 3'000);
    }
    // The symbol of instrument 1.
    overwrite(first_segment(), data_offset(kSegmentBytes) + kRecordBytes<NameRecord> + 32, "X");
    JournalReader reader{folder_};
    reader.seek(2'500);
    Delivered delivered{reader};
    EXPECT_EQ(reader.poll(delivered, 1), 1U);
    ASSERT_NE(reader.instrument(0), nullptr);
    EXPECT_EQ(reader.instrument(0)->symbol.view(), "S0");
    EXPECT_EQ(reader.instrument(1), nullptr);
    EXPECT_EQ(reader.instrument(2)->symbol.view(), "S2");
}

TEST_F(JournalDamageTest, AnUnreadableSegmentIsPassedOverNamedAndItsRecordsAreLost) {
    write(2 * kQuotesInSegment);
    const auto files = list_segments(folder_);
    ASSERT_EQ(files.size(), 3U);
    const auto last_before = SegmentReader{files[0].path}.tail()->next_record - 1;
    const auto first_after = SegmentReader{files[2].path}.identity().first_record;
    std::filesystem::resize_file(files[1].path, 2 * kHeaderBytes);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    const auto lost = delivered.all<LostRecord>();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].reason, LostReason::damaged);
    EXPECT_EQ(lost[0].first, last_before + 1);
    EXPECT_EQ(lost[0].last, first_after - 1);
    const auto named = reader.drain_faults();
    ASSERT_EQ(named.size(), 1U);
    EXPECT_NE(named[0].find("0000000002.mpj: cut off before its first record"), std::string::npos);
    reader.seek(1);
    EXPECT_TRUE(reader.drain_faults().empty()) << "named once";
}

TEST_F(JournalDamageTest, AFileBetweenSegmentsThatIsNotASegmentIsDamage) {
    using Replace = std::function<void(const std::filesystem::path&)>;
    const std::vector<std::pair<std::string, Replace>> cases{
        {"header is empty", [](const auto& path) { overwrite(path, 0, std::string(100, '\0')); }},
        {"header is empty", [](const auto& path) { overwrite(path, 0, std::string(kHeaderBytes, '\0')); }},
        {"header is empty",
         [](const auto& path) {
             std::filesystem::resize_file(path, 0);
             std::filesystem::resize_file(path, kSegmentBytes);
         }},
        {"begins with record 1, the segment before ends",
         [this](const auto& path) {
             std::filesystem::copy_file(first_segment(), path, std::filesystem::copy_options::overwrite_existing);
         }},
        {"0000000002.mpj",
         [](const auto& path) {
             std::filesystem::remove(path);
             std::filesystem::create_symlink("nowhere", path);
         }},
        {"0000000002.mpj",
         [](const auto& path) {
             std::filesystem::remove(path);
             std::filesystem::create_directory(path);
         }},
    };
    for (const auto& [text, replace] : cases) {
        SCOPED_TRACE(text);
        TearDown();
        write(2 * kQuotesInSegment);
        const auto files = list_segments(folder_);
        ASSERT_EQ(files.size(), 3U);
        const auto first_after = SegmentReader{files[2].path}.identity().first_record;
        const auto last_before = SegmentReader{files[0].path}.tail()->next_record - 1;
        replace(files[1].path);
        const auto found = read();
        ASSERT_EQ(found.faults.size(), 1U);
        EXPECT_NE(found.faults[0].find(text), std::string::npos) << found.faults[0];
        ASSERT_EQ(found.lost.size(), 1U);
        EXPECT_EQ(found.lost[0].reason, LostReason::damaged);
        EXPECT_EQ(found.lost[0].first, last_before + 1);
        EXPECT_EQ(found.lost[0].last, first_after - 1);
        EXPECT_EQ(found.quotes.size() + found.lost[0].count(), 2 * kQuotesInSegment);
    }
}

TEST_F(JournalDamageTest, ANewestSegmentWithoutItsHeaderIsDamageAndOneThatWaitsIsNot) {
    write(2 * kQuotesInSegment);
    const auto files = list_segments(folder_);
    const auto newest = files.back().path;
    const auto waiting = folder_ / "0000000009.mpj";
    std::ofstream{waiting}.close();
    std::filesystem::resize_file(waiting, kSegmentBytes);
    EXPECT_TRUE(read().faults.empty());
    overwrite(newest, 0, std::string(kHeaderBytes, '\0'));
    const auto found = read();
    ASSERT_EQ(found.faults.size(), 1U);
    EXPECT_NE(found.faults[0].find(newest.filename().string() + ": not a journal segment: its header is empty"),
              std::string::npos)
        << found.faults[0];
}

TEST_F(JournalDamageTest, ANewestSegmentThatWasCutToNothingIsDamageAndItsNumbersAreNotUsedAgain) {
    for (const std::uintmax_t bytes : {0U, 1U}) {
        std::filesystem::remove_all(folder_);
        write(2 * kQuotesInSegment);
        const auto newest = list_segments(folder_).back();
        std::filesystem::resize_file(newest.path, bytes);
        const auto found = read();
        ASSERT_EQ(found.faults.size(), 1U);
        EXPECT_NE(found.faults[0].find(newest.path.filename().string()), std::string::npos) << found.faults[0];
        const auto described = describe_segments(folder_);
        EXPECT_EQ(described.back().state, SegmentState::unreadable);
        EXPECT_NE(described.back().error.find(newest.path.string()), std::string::npos) << described.back().error;
        JournalReader follower{folder_};
        Delivered followed{follower};
        followed.drain();
        const auto before = followed.items.size();
        {
            JournalWriter writer{options(), 0};
            EXPECT_EQ(writer.set_aside_segments().size(), 1U);
            EXPECT_GE(writer.next_record(), 2 * kQuotesInSegment + 1);
            writer.set_epoch(kEpoch);
            append(writer, 1, 1);
        }
        followed.drain();
        ASSERT_EQ(followed.items.size(), before + 2);  // the loss, then the quote
        EXPECT_EQ(followed.all<LostRecord>().back().last, followed.items.back().at.record - 1);
    }
}

TEST_F(JournalDamageTest, TheWriterSetsUnreadableSegmentsAsideAndGivesNoNumberTwice) {
    write(100);
    const auto path = first_segment();
    overwrite(path, 48, "another ring");
    std::ofstream{folder_ / "0000000002.mpj"} << "foreign";
    std::filesystem::create_symlink("/etc/passwd", folder_ / "0000000003.mpj");
    {
        JournalWriter writer{options(), 0};
        ASSERT_EQ(writer.set_aside_segments().size(), 3U);
        EXPECT_EQ(writer.counters().set_aside_segments.read(), 3U);
        EXPECT_NE(writer.set_aside_segments()[0].find("0000000001.mpj: its header is damaged"), std::string::npos);
        EXPECT_GT(writer.next_record(), 100U);
        writer.set_epoch(kEpoch);
        append(writer, 1, 5);
    }
    EXPECT_TRUE(std::filesystem::exists(folder_ / "0000000001.mpj.damaged"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "0000000003.mpj.damaged"));
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    expect_quotes(delivered, 1, 5);
    EXPECT_GT(delivered.items.front().at.record, 100U);
}

TEST_F(JournalDamageTest, AChangedByteOfTheHeaderIsFoundAndCostsNoRecord) {
    write_two(50);
    const auto path = first_segment();
    for (std::uint64_t at = 0; at < offsetof(SegmentHeader, end_crc) + sizeof(std::uint64_t); ++at) {
        const bool is_chain =
            at >= offsetof(SegmentHeader, last_description) && at < offsetof(SegmentHeader, next_record);
        const auto before = byte_at(path, at);
        for (const char change : {'\x01', '\x80', '\xff'}) {
            overwrite(path, at, std::string(1, static_cast<char>(before ^ change)));
            const auto got = read();
            ASSERT_EQ(got.quotes.size(), 100U) << "byte " << at;
            for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(got.quotes[i].feed_sequence, i + 1) << "byte " << at;
            EXPECT_TRUE(got.lost.empty()) << "byte " << at;
            EXPECT_TRUE(got.named) << "byte " << at;
            if (is_chain) {
                EXPECT_FALSE(SegmentReader{path}.last_description()) << "byte " << at;
            } else {
                ASSERT_EQ(got.faults.size(), 1U) << "byte " << at;
                EXPECT_NE(got.faults[0].find("0000000001.mpj: "), std::string::npos);
                EXPECT_NE(got.faults[0].find(" damaged; its records are read"), std::string::npos) << got.faults[0];
            }
            overwrite(path, at, std::string(1, before));
        }
    }
    EXPECT_TRUE(read().faults.empty());
}

TEST_F(JournalDamageTest, AWriterMakesADamagedHeaderGoodAndKeepsTheSegment) {
    write_two(50);
    const auto path = first_segment();
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{25}, std::uint64_t{50},
                                   offsetof(SegmentHeader, identity_crc), offsetof(SegmentHeader, end)}) {
        overwrite(path, at, std::string(1, static_cast<char>(byte_at(path, at) ^ 2)));
        {
            JournalWriter writer{options(), 0};
            EXPECT_TRUE(writer.set_aside_segments().empty());
            ASSERT_EQ(writer.repaired_segments().size(), 1U) << "byte " << at;
            EXPECT_NE(writer.repaired_segments()[0].find("0000000001.mpj: "), std::string::npos);
            EXPECT_EQ(writer.resume_at(kEpoch), 101U);
        }
        const auto got = read();
        EXPECT_TRUE(got.faults.empty()) << "byte " << at;
        EXPECT_EQ(got.quotes.size(), 100U);
        EXPECT_TRUE(got.lost.empty());
    }
}

TEST_F(JournalDamageTest, AnEndThatIsGoneCostsNothingWhereAnotherSegmentFollows) {
    write_two(50);
    overwrite(first_segment(), offsetof(SegmentHeader, next_record), std::string(40, '\0'));
    const auto got = read();
    EXPECT_EQ(got.quotes.size(), 100U);
    EXPECT_TRUE(got.lost.empty());
    EXPECT_EQ(from_time(80'000), (std::vector<std::uint64_t>{82, 80, 1, 83, 81, 1, 84, 82, 1, 85, 83, 1, 86, 84, 1}));
}

TEST_F(JournalDamageTest, TheLastRecordDamagedBesideTheEndIsOneLostRecord) {
    write_two(50);
    overwrite(first_segment(), offsetof(SegmentHeader, end), "?");
    const auto last = data_offset(kSegmentBytes) + kRecordBytes<NameRecord> + 49 * kRecordBytes<feed::Quote>;
    overwrite(first_segment(), last + 40, "?");
    const auto got = read();
    EXPECT_EQ(got.quotes.size(), 99U);
    ASSERT_EQ(got.lost.size(), 1U);
    EXPECT_EQ(got.lost[0].first, 51U);
    EXPECT_EQ(got.lost[0].last, 51U);
    EXPECT_EQ(got.lost[0].reason, LostReason::damaged);
}

TEST_F(JournalDamageTest, AChangedByteOfTheIndexIsFoundAndChangesNoSearch) {
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        writer.name(0, {feed::Venue{"V"}, feed::Symbol{"S"}});
        append(writer, 1, 5'000);
    }
    const auto path = first_segment();
    const auto by_record = from_record(3'500);
    const auto by_time = from_time(3'500'000);
    ASSERT_EQ(by_record.size(), 15U);
    ASSERT_EQ(by_time[1], 3'500U);
    for (std::size_t block = 0; block < 7; ++block) {
        ASSERT_TRUE(SegmentReader{path}.place(block));
        for (std::uint64_t at = kHeaderBytes + 32 * block; at < kHeaderBytes + 32 * (block + 1); ++at) {
            const auto before = byte_at(path, at);
            overwrite(path, at, std::string(1, static_cast<char>(before ^ 4)));
            EXPECT_FALSE(SegmentReader{path}.place(block)) << "byte " << at;
            EXPECT_EQ(from_record(3'500), by_record) << "byte " << at;
            EXPECT_EQ(from_time(3'500'000), by_time) << "byte " << at;
            overwrite(path, at, std::string(1, before));
        }
    }
    overwrite(path, kHeaderBytes, std::string(kHeaderBytes, '\0'));
    EXPECT_EQ(from_record(3'500), by_record) << "without any index";
    EXPECT_EQ(from_time(3'500'000), by_time);
}

TEST_F(JournalDamageTest, AFileThatIsNotASegmentIsRefusedWithItsContents) {
    write(5);
    const auto path = first_segment();
    for (const std::uint32_t version : {1U, 2U, 3U, 4U, 7U}) {
        {
            auto region = memory::Region::open_file(path, memory::Access::writable);
            auto& header = *reinterpret_cast<SegmentHeader*>(region.data());
            header.layout_version = version;
            constexpr auto kBegin = offsetof(SegmentHeader, layout_version);
            std::array<std::uint64_t, (offsetof(SegmentHeader, identity_crc) - kBegin) / 8> words{};
            std::memcpy(words.data(), region.data() + kBegin, sizeof words);
            header.identity_crc = core::crc32c(words);
        }
        EXPECT_NE(message_of(path).find("layout version " + std::to_string(version) +
                                        "; this build reads version 5 only: export it with the version"),
                  std::string::npos);
    }
    overwrite(path, 48, "another ring");
    EXPECT_NE(message_of(path).find("layout version 7; this build reads version 5 only"), std::string::npos);
    overwrite(path, 8, std::string{"\5\0\0\0", 4});
    EXPECT_NE(message_of(path).find("damaged in more than one byte"), std::string::npos);
    overwrite(path, 0, "ELF?");
    EXPECT_NE(message_of(path).find("wrong magic number"), std::string::npos);
    std::filesystem::resize_file(path, 100);
    EXPECT_NE(message_of(path).find("100 bytes"), std::string::npos);
}

TEST_F(JournalDamageTest, TheRestOfATruncatedFileIsReadAndTheLossCounted) {
    write(8'000);
    const auto kept = (kSegmentBytes / 2 - data_offset(kSegmentBytes)) / kRecordBytes<feed::Quote>;
    std::filesystem::resize_file(first_segment(), kSegmentBytes / 2);
    for (int round = 0; round < 2; ++round) {
        const auto got = read();
        ASSERT_EQ(got.quotes.size(), kept);
        EXPECT_EQ(got.quotes.back().feed_sequence, kept);
        ASSERT_EQ(got.lost.size(), 1U);
        EXPECT_EQ(got.lost[0].first, kept + 1);
        EXPECT_EQ(got.lost[0].last, 8'000U);
        ASSERT_EQ(got.faults.size(), 1U);
        EXPECT_NE(got.faults[0].find("cut off: 524288 bytes, its header says 1048576"), std::string::npos);
        JournalWriter writer{options(), 0};  // keeps it and continues its numbers
        EXPECT_TRUE(writer.set_aside_segments().empty());
        EXPECT_EQ(writer.repaired_segments().size(), 1U);
        EXPECT_EQ(writer.next_record(), 8'001U);
    }
}

TEST_F(JournalDamageTest, AGrowingSegmentThatWasCutOffIsEndedWhereItsRecordsStop) {
    const auto copy = std::filesystem::path{folder_.string() + "-copy"};
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        append(writer, 1, 8'000);
        std::filesystem::create_directories(copy);
        std::filesystem::copy_file(first_segment(), copy / "0000000001.mpj",
                                   std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove_all(folder_);
    std::filesystem::rename(copy, folder_);
    std::filesystem::resize_file(first_segment(), kSegmentBytes / 2 + 3);
    const auto kept = (kSegmentBytes / 2 - data_offset(kSegmentBytes)) / kRecordBytes<feed::Quote>;
    {
        JournalWriter writer{options(), 0};
        EXPECT_TRUE(writer.set_aside_segments().empty());
        EXPECT_EQ(writer.next_record(), kept + 1);
    }
    EXPECT_EQ(describe_segments(folder_)[0].newest_utc_ns, static_cast<std::int64_t>(kept * 1'000));
    EXPECT_EQ(read().quotes.size(), kept);
}

TEST_F(JournalDamageTest, RandomBytesNeverCrashAReaderAndDeliveredRecordsWereWritten) {
    write(3'000);
    const auto path = first_segment();
    std::ifstream in{path, std::ios::binary};
    const std::string good{std::istreambuf_iterator<char>{in}, {}};
    std::mt19937_64 random{11};
    for (int round = 0; round < 60; ++round) {
        auto bad = good;
        for (int i = 0; i < 1 + round; ++i) {
            // Header fields that decide about acceptance are tested elsewhere.
            const auto offset = 128 + random() % (bad.size() / 3);
            bad[offset] = static_cast<char>(random());
        }
        overwrite(path, 0, bad);
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        EXPECT_GT(delivered.all<feed::Quote>().size(), 2'900U - 60U);
        for (const auto& quote : delivered.all<feed::Quote>()) {
            ASSERT_EQ(quote.bid_price, static_cast<feed::Price>(quote.feed_sequence));
            ASSERT_EQ(quote.bid_size, quote.feed_sequence * 3);
        }
        reader.seek(1'500);
        reader.select(1'000'000, std::nullopt);
    }
}

}  // namespace
}  // namespace millpond::journal
