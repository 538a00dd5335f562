#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <millpond/memory/region.hpp>

#include "tests/journal/journal_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::journal {
namespace {

using JournalDeathTest = JournalTest;

TEST_F(JournalDeathTest, AForkedProcessThatEndsLeavesTheJournalToItsWriter) {
    auto writer = std::make_unique<JournalWriter>(options(), 0);
    writer->set_epoch(kEpoch);
    ASSERT_TRUE(writer->append(quote(1), 1));
    ASSERT_EQ(test::ChildProcess{[&] {
                  writer.reset();
                  return 0;
              }}.wait_for_end(),
              0);
    ASSERT_TRUE(writer->append(quote(2), 2));
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    expect_quotes(delivered, 1, 2);
}

/// Each of MILLPOND_TEST_KILLS (40) writers is killed at a random place; the next one continues. Every record that was
/// reported as appended is present, records are intact, and no number is missing or repeated.
TEST_F(JournalDeathTest, AppendedRecordsSurviveKillMinusNine) {
    const char* wanted = std::getenv("MILLPOND_TEST_KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 40;
    std::mt19937_64 random{42};
    std::uint64_t before = 0;
    for (int kill = 0; kill < kills; ++kill) {
        const auto told_name = "millpond-test-journal-" + std::to_string(getpid());
        auto shared = memory::Region::shared(told_name, 8, {.exclusive = true});
        auto* told = reinterpret_cast<std::atomic<std::uint64_t>*>(shared.data());
        {
            test::ChildProcess child{[&] {
                JournalWriter writer{options(), 0};
                auto number = writer.resume_at(kEpoch);
                writer.set_epoch(kEpoch);
                for (;;) {
                    if (writer.append(quote(number), number)) {
                        told->store(number++);
                    } else {
                        writer.service(0);
                    }
                }
                return 0;
            }};
            const auto target = before + 1 + random() % (2 * kQuotesInSegment);
            while (told->load() < target) std::this_thread::yield();
        }
        const auto acknowledged = told->load();
        memory::Region::unlink_shared(told_name);

        JournalWriter writer{options(), 0};
        const auto next = writer.resume_at(kEpoch);
        ASSERT_GE(next, acknowledged + 1) << "kill " << kill;
        ASSERT_LE(next, acknowledged + 2) << "one more may be complete that was not acknowledged";
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        ASSERT_TRUE(delivered.all<LostRecord>().empty());
        expect_quotes(delivered, 1, next - 1);
        before = next - 1;
        if (before > 8 * kQuotesInSegment) {
            std::filesystem::remove_all(folder_);
            before = 0;
        }
    }
}

}  // namespace
}  // namespace millpond::journal
