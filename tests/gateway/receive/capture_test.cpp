#include "gateway/receive/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <millpond/files/pcap_reader.hpp>

#include "gateway/receive/capture_ring.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::gateway {
namespace {

const service::LogFunction kSilent = [](service::Severity, std::string_view, const std::string&) {};

std::vector<std::byte> datagram(std::uint64_t number) {
    std::vector<std::byte> bytes(number % 1'500);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number * 31 + i);
    return bytes;
}

TEST(CaptureRing, WhatGoesInComesOutInOrderRoundAfterRound) {
    CaptureRing ring{1 << 14};
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    while (out < 5'000) {
        while (ring.put(static_cast<std::uint32_t>(in % 3), static_cast<std::int64_t>(in), datagram(in))) ++in;
        while (const auto entry = ring.front()) {
            const auto wanted = datagram(out);
            ASSERT_EQ(entry->utc_ns, static_cast<std::int64_t>(out));
            ASSERT_EQ(entry->feed, out % 3);
            ASSERT_TRUE(std::equal(entry->bytes.begin(), entry->bytes.end(), wanted.begin(), wanted.end()));
            ring.pop();
            ++out;
        }
        ASSERT_EQ(in, out);
    }
}

TEST(CaptureRing, DatagramsThatDoNotFitAreCountedAndTheRestAreComplete) {
    CaptureRing ring{1'024};
    const std::vector<std::byte> bytes(100);
    std::uint64_t kept = 0;
    for (int i = 0; i < 50; ++i) kept += ring.put(0, i, bytes) ? 1U : 0U;
    EXPECT_EQ(ring.lost().read(), 50 - kept);
    std::uint64_t found = 0;
    for (; ring.front(); ring.pop()) ++found;
    EXPECT_EQ(found, kept);
    EXPECT_FALSE(ring.put(0, 0, std::vector<std::byte>(2'000))) << "longer than the ring";
}

TEST(CaptureRing, PuttingNeedsNoHeapNoFaultNoSystemCall) {
    CaptureRing ring{1 << 16};
    const std::vector<std::byte> bytes(256);
    const auto work = [&] {
        bool kept = true;
        for (int i = 0; i < 100; ++i) kept = ring.put(0, i, bytes) && kept;
        while (ring.front()) ring.pop();
        return kept;
    };
#if defined(__SANITIZE_THREAD__)
    EXPECT_TRUE(work());  // the race detector's own allocations do not count
#else
    millpond::test::expect_free_of_cost(work);
#endif
}

TEST(CaptureRing, TwoThreadsAgree) {
    CaptureRing ring{1 << 14};
    constexpr std::uint64_t kCount = 20'000;
    std::thread writer{[&] {
        for (std::uint64_t i = 0; i < kCount; ++i) {
            while (!ring.put(0, static_cast<std::int64_t>(i), datagram(i))) std::this_thread::yield();
        }
    }};
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < kCount;) {
        const auto entry = ring.front();
        if (!entry) {
            std::this_thread::yield();
            continue;
        }
        const auto wanted = datagram(i);
        if (entry->utc_ns != static_cast<std::int64_t>(i) ||
            !std::equal(entry->bytes.begin(), entry->bytes.end(), wanted.begin(), wanted.end())) {
            ++wrong;
        }
        ring.pop();
        ++i;
    }
    writer.join();
    EXPECT_EQ(wrong, 0U);
}

/// Times of the datagrams in a file, which the tests use as numbers.
std::vector<std::int64_t> numbers_in(const std::string& path) {
    std::vector<std::int64_t> numbers;
    files::PcapReader reader{path};
    for (files::CapturedDatagram read; reader.next(read);) {
        const auto wanted = datagram(static_cast<std::uint64_t>(read.utc_ns));
        EXPECT_TRUE(std::equal(read.payload.begin(), read.payload.end(), wanted.begin(), wanted.end()));
        EXPECT_EQ(read.destination.to_string(), "224.0.105.2:51002");
        numbers.push_back(read.utc_ns);
    }
    EXPECT_EQ(reader.error(), "");
    return numbers;
}

TEST(Capture, FilesAreRotatedAndHoldEveryDatagramOnce) {
    const millpond::test::Folder folder{"capture"};
    constexpr std::int64_t kCount = 2'000;
    {
        Capture capture{{.folder = folder / "new", .name = "main", .rotate_bytes = 100'000},
                        {net::SocketAddress::parse("224.0.105.2:51002")},
                        kSilent};
        for (std::int64_t i = 0; i < kCount; ++i) {
            capture.put(0, i, datagram(static_cast<std::uint64_t>(i)));
            if (i % 100 == 0) {
                while (capture.counters().datagrams.read() < static_cast<std::uint64_t>(i)) std::this_thread::yield();
            }
        }
        EXPECT_EQ(capture.lost().read(), 0U);
    }
    std::vector<std::int64_t> all;
    int files = 0;
    for (int number = 1; std::filesystem::exists(folder / "new/main.pcap." + std::to_string(number)); ++number) {
        for (const auto one : numbers_in(folder / "new/main.pcap." + std::to_string(number))) all.push_back(one);
        ++files;
    }
    for (const auto one : numbers_in(folder / "new/main.pcap")) all.push_back(one);
    EXPECT_GE(files, 3);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(kCount));
    for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST(Capture, AFileThatIsMovedIsFollowedByANewOne) {
    const millpond::test::Folder folder{"capture-moved"};
    const auto path = folder / "main.pcap";
    std::string said;
    {
        Capture capture{{.folder = folder / "", .name = "main"},
                        {net::SocketAddress::parse("224.0.105.2:51002")},
                        [&](service::Severity, std::string_view, const std::string& text) { said += text; }};
        constexpr std::uintmax_t kHeaderBytes = 24;
        capture.put(0, 1, datagram(1));
        while (std::filesystem::file_size(path) <= kHeaderBytes) std::this_thread::yield();
        std::filesystem::rename(path, path + ".moved");
        capture.put(0, 2, datagram(2));
    }
    EXPECT_THAT(numbers_in(path + ".moved"), ::testing::ElementsAre(1));
    EXPECT_THAT(numbers_in(path), ::testing::ElementsAre(2));
    EXPECT_THAT(said, ::testing::HasSubstr("main.pcap' was moved or removed"));
}

TEST(Capture, ASessionHasFilesOfItsOwnAndWhatComesLateOfTheOneBeforeGoesThere) {
    const millpond::test::Folder folder{"capture-session"};
    {
        Capture capture{
            {.folder = folder / "", .name = "main"}, {net::SocketAddress::parse("224.0.105.2:51002")}, kSilent};
        const auto put = [&](std::int64_t number, bool before) {
            capture.put(0, number, datagram(static_cast<std::uint64_t>(number)), before);
        };
        ASSERT_TRUE(capture.begin_session());  // an empty file is not kept
        put(1, false);
        put(2, true);  // there is no earlier file
        ASSERT_TRUE(capture.begin_session());
        put(3, true);
        put(4, false);
        put(5, true);
        ASSERT_TRUE(capture.begin_session());
        put(6, false);
        put(7, true);
        EXPECT_EQ(capture.lost().read(), 0U);
    }
    using ::testing::ElementsAre;
    EXPECT_THAT(numbers_in(folder / "main.pcap.1"), ElementsAre(1, 2, 3, 5));
    EXPECT_THAT(numbers_in(folder / "main.pcap.2"), ElementsAre(4, 7));
    EXPECT_THAT(numbers_in(folder / "main.pcap"), ElementsAre(6));
    EXPECT_FALSE(std::filesystem::exists(folder / "main.pcap.3"));
}

TEST(Capture, OnlySoManyFullFilesAreKept) {
    const millpond::test::Folder folder{"capture-keep"};
    {
        Capture capture{{.folder = folder / "", .name = "main", .rotate_bytes = 10'000, .keep = 2},
                        {net::SocketAddress::parse("224.0.105.2:51002")},
                        kSilent};
        for (std::int64_t i = 0; i < 500; ++i) {
            capture.put(0, i, datagram(static_cast<std::uint64_t>(i)));
            while (capture.counters().datagrams.read() < static_cast<std::uint64_t>(i)) std::this_thread::yield();
        }
    }
    std::size_t full = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
        full += entry.path().filename().string().starts_with("main.pcap.") ? 1U : 0U;
    }
    EXPECT_EQ(full, 2U);
}

TEST(Capture, AFullDiskIsToldAndWhatDoesNotFitTheRingIsCounted) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    const millpond::test::Folder folder{"capture-full"};
    std::filesystem::create_symlink("/dev/full", folder / "main.pcap");
    std::atomic<int> told{0};
    Capture capture{{.folder = folder / "", .name = "main", .buffer_bytes = 8'192},
                    {net::SocketAddress::parse("224.0.105.2:51002")},
                    [&](service::Severity severity, std::string_view, const std::string& text) {
                        if (severity == service::Severity::error && text.find("No space left") != std::string::npos)
                            ++told;
                    }};
    while (told == 0) std::this_thread::yield();
    const std::vector<std::byte> bytes(1'000);
    while (capture.lost().read() == 0) capture.put(0, 0, bytes);
    EXPECT_GE(capture.counters().write_errors.read(), 1U);
}

}  // namespace
}  // namespace millpond::gateway
