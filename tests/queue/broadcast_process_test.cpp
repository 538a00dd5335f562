// Readers and writers in separate processes, killed at random points.
//
// The long run, 10^8 entries:
//   MILLPOND_BROADCAST_ENTRIES=100000000 millpond_queue_tests --gtest_filter='BroadcastProcesses.*'

#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/broadcast_writer.hpp>

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/queue/broadcast_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::queue {
namespace {

using test::ChildProcess;

std::uint64_t entries_to_send() {
    const char* text = std::getenv("MILLPOND_BROADCAST_ENTRIES");  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? 1'000'000 : std::stoull(text);
}

/// State of a reading process while it runs.
struct alignas(128) Report {
    std::atomic<std::uint64_t> delivered{0};
    std::atomic<std::uint64_t> missed{0};
    std::atomic<std::uint64_t> torn{0};
    std::atomic<std::uint64_t> unexplained{0};
    std::atomic<std::uint64_t> next{1};
    std::atomic<bool> ready{false};
};

/// Memory that a process shares with the children it forks: reports, then a ring.
class SharedMemory {
public:
    explicit SharedMemory(std::uint64_t capacity) : bytes_(kReportBytes + broadcast_bytes(capacity)) {
        at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at_ == MAP_FAILED) throw std::runtime_error("mmap failed");
        for (std::size_t i = 0; i < 2; ++i) ::new (&report(i)) Report{};
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    ~SharedMemory() { munmap(at_, bytes_); }

    [[nodiscard]] Report& report(std::size_t i) { return static_cast<Report*>(at_)[i]; }
    [[nodiscard]] std::span<std::byte> ring() {
        return {static_cast<std::byte*>(at_) + kReportBytes, bytes_ - kReportBytes};
    }

private:
    static constexpr std::size_t kReportBytes = 4096;
    std::size_t bytes_;
    void* at_;
};

/// Continues from report.next and checks every entry. Returns the outcome of the last read.
ReadOutcome check_next(BroadcastReader& reader, Report& report) {
    BroadcastMessage message;
    const auto expected = reader.next();
    const auto outcome = reader.try_read(message);
    if (outcome == ReadOutcome::message) {
        if (!whole(message)) ++report.torn;
        if (message.number != expected) ++report.unexplained;
        ++report.delivered;
    } else if (outcome == ReadOutcome::missed) {
        if (reader.missed().first != expected || reader.next() <= expected) ++report.unexplained;
        report.missed += reader.missed().count();
    }
    report.next.store(reader.next(), std::memory_order_release);  // the test's flow control: may_publish
    return outcome;
}

/// Reads until entry `last`.
int read_until(SharedMemory& memory, std::size_t who, std::uint64_t last) {
    BroadcastReader reader{memory.ring(), kContent};
    auto& report = memory.report(who);
    report.ready = true;
    while (reader.next() <= last) {
        if (check_next(reader, report) == ReadOutcome::nothing) sched_yield();
    }
    return 0;
}

void await_ready(SharedMemory& memory) {
    while (!memory.report(0).ready || !memory.report(1).ready) sched_yield();
}

TEST(BroadcastProcesses, TwoReadersEachGetEverythingFromAWriterThatTheTestHoldsBack) {
    constexpr std::uint64_t kCapacity = 1 << 14;
    const auto entries = entries_to_send();
    SharedMemory memory{kCapacity};
    auto writer = BroadcastWriter::create(memory.ring(), kCapacity, kContent, kEpoch);
    ChildProcess first{[&] { return read_until(memory, 0, entries); }};
    ChildProcess second{[&] { return read_until(memory, 1, entries); }};
    await_ready(memory);
    const auto may_publish = [&](std::size_t who) {
        return writer.next() - memory.report(who).next.load(std::memory_order_acquire) < kCapacity - 1;
    };
    for (std::uint64_t i = 0; i < entries; ++i) {
        while (!may_publish(0) || !may_publish(1)) sched_yield();
        publish_pattern(writer);
    }
    EXPECT_EQ(first.wait_for_end(), 0);
    EXPECT_EQ(second.wait_for_end(), 0);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(memory.report(i).delivered, entries);
        EXPECT_EQ(memory.report(i).missed, 0U);
        EXPECT_EQ(memory.report(i).torn, 0U);
        EXPECT_EQ(memory.report(i).unexplained, 0U);
    }
}

TEST(BroadcastProcesses, ReadersThatAreLappedAgainAndAgainSeeNothingTornAndCloseTheirAccounts) {
    constexpr std::uint64_t kCapacity = 256;
    const auto entries = entries_to_send();
    SharedMemory memory{kCapacity};
    auto writer = BroadcastWriter::create(memory.ring(), kCapacity, kContent, kEpoch);
    ChildProcess first{[&] { return read_until(memory, 0, entries); }};
    ChildProcess second{[&] { return read_until(memory, 1, entries); }};
    await_ready(memory);
    for (std::uint64_t i = 0; i < entries; ++i) {
        publish_pattern(writer);
        if (i % (8 * kCapacity) == 0) sched_yield();
    }
    EXPECT_EQ(first.wait_for_end(), 0);
    EXPECT_EQ(second.wait_for_end(), 0);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(memory.report(i).delivered + memory.report(i).missed, entries);
        EXPECT_GT(memory.report(i).delivered, 0U);
        EXPECT_EQ(memory.report(i).torn, 0U);
        EXPECT_EQ(memory.report(i).unexplained, 0U);
    }
}

/// Continues the ring until it is killed.
[[noreturn]] void write_for_ever(SharedMemory& memory) {
    auto writer = BroadcastWriter::resume(memory.ring(), kContent);
    for (;;) publish_pattern(writer);
}

TEST(BroadcastProcesses, AWriterKilledAnywhereLosesNothingThatItPublished) {
    constexpr std::uint64_t kCapacity = 1 << 12;
    constexpr int kDeaths = 60;
    SharedMemory memory{kCapacity};
    (void)BroadcastWriter::create(memory.ring(), kCapacity, kContent, kEpoch);
    BroadcastReader reader{memory.ring(), kContent};
    auto& report = memory.report(0);
    std::mt19937_64 random{1};
    int half_written = 0;
    for (int death = 0; death < kDeaths; ++death) {
        {
            ChildProcess writer{[&]() -> int { write_for_ever(memory); }};
            const auto until = reader.next() + 1 + random() % 2'000;
            while (reader.next() < until) {
                if (check_next(reader, report) == ReadOutcome::nothing) sched_yield();
            }
            writer.kill_now();
        }
        while (check_next(reader, report) != ReadOutcome::nothing) {
        }
        // The dead writer leaves complete entries, which were all read, and at most one incomplete entry.
        const auto* entries = reinterpret_cast<const BroadcastEntry*>(memory.ring().data() + sizeof(BroadcastHeader));
        const auto mark = entries[reader.next() & (kCapacity - 1)].sequence.load();
        EXPECT_TRUE(mark < complete_mark(reader.next()));
        if (mark == writing_mark(reader.next())) ++half_written;
        EXPECT_EQ(reader.account().queued, 0U);
    }
    EXPECT_EQ(report.torn, 0U);
    EXPECT_EQ(report.unexplained, 0U);
    EXPECT_EQ(report.delivered + report.missed, reader.next() - 1);
    EXPECT_EQ(reader.writer_starts(), 1U + kDeaths);
    RecordProperty("half_written", half_written);
}

TEST(BroadcastProcesses, AReaderKilledAnywhereDoesNotAffectTheOthers) {
    constexpr std::uint64_t kCapacity = 1 << 10;
    SharedMemory memory{kCapacity};
    auto writer = BroadcastWriter::create(memory.ring(), kCapacity, kContent, kEpoch);
    BroadcastReader other{memory.ring(), kContent};
    auto& report = memory.report(0);
    std::mt19937_64 random{2};
    for (int death = 0; death < 30; ++death) {
        auto& victim = memory.report(1);
        victim.ready = false;
        victim.delivered = 0;
        ChildProcess reader{[&] { return read_until(memory, 1, UINT64_MAX - 1); }};
        while (!victim.ready) sched_yield();
        const auto enough = 1 + random() % 500;
        while (victim.delivered + victim.missed < enough) {
            for (int i = 0; i < 64; ++i) {
                publish_pattern(writer);
                ASSERT_EQ(check_next(other, report), ReadOutcome::message);
            }
            sched_yield();
        }
        reader.kill_now();
    }
    EXPECT_EQ(report.delivered, writer.next() - 1);
    EXPECT_EQ(report.missed, 0U);
    EXPECT_EQ(report.torn, 0U);
    EXPECT_EQ(memory.report(1).torn, 0U);
    EXPECT_EQ(memory.report(1).unexplained, 0U);
}

}  // namespace
}  // namespace millpond::queue
