// Pauses between the requests to a SNAP server, so that those of a day suffice for the day.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_snap.hpp>
#include <millpond/feed/instrument_table.hpp>

#include "gateway/feeds/iex/snap_rebuild.hpp"
#include "tests/net/soupbin_peer.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::gateway::iex {
namespace {

struct Ignore {
    void on(const auto&) {}
};

class SnapPause : public ::testing::Test {
protected:
    SnapPause() { std::filesystem::create_directories(folder_); }
    ~SnapPause() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] SnapReader::Options options() const {
        return {.server = peer_.address(),
                .token = "T",
                .protocol = feed::iex_layout::kDeep,
                .quota_file = folder_ + "/snap-requests."};
    }
    void answer(char code) { peer_.send(std::array{std::byte{2}, std::byte{0}, std::byte{'e'}, std::byte(code)}); }

    const std::string folder_{::testing::TempDir() + test::scratch_name("snap.pause")};
    net::test::SoupBinPeer peer_;
};

TEST_F(SnapPause, GrowsWithTheRequestsOfTheDayAndIsLongAfterARejection) {
    SnapReader reader{options()};
    const auto pause_after = [&](char code) {
        bool is_accepted = false;
        bool is_answered = false;
        const auto goes_on = [&] {
            if (!is_accepted && peer_.has_caller()) {
                peer_.accept();
                is_accepted = true;
            }
            if (is_accepted && !is_answered && peer_.received().size() == feed::iex_snap::kRequestBytes) {
                answer(code);
                is_answered = true;
            }
            return true;
        };
        EXPECT_THROW(
            static_cast<void>(reader.read({.number = 1, .channel = 1}, 5, [](auto) {}, goes_on)), std::runtime_error);
        return reader.pause_ns();
    };
    EXPECT_EQ(pause_after('R'), 1 * SnapReader::kPerRequestNs);
    EXPECT_EQ(pause_after('E'), 2 * SnapReader::kPerRequestNs);
    for (const char code : {'A', 'C', 'S', 'U', 'Q'}) EXPECT_EQ(pause_after(code), SnapReader::kRejectedNs) << code;
    EXPECT_EQ(pause_after('R'), 8 * SnapReader::kPerRequestNs);
    constexpr std::int64_t kRequests = feed::iex_snap::kMaxRequests;
    EXPECT_GT(kRequests * (kRequests + 1) / 2 * SnapReader::kPerRequestNs, 9 * 3'600'000'000'000) << "of IEX's day";
}

TEST_F(SnapPause, EndsWithTheSessionThatWasRejected) {
    feed::InstrumentTable instruments{16};
    feed::IexDeepDecoder::Options small;
    small.order_books = {.books = 16, .orders = 1, .level_chunks = 64};
    feed::IexDeepDecoder decoder{instruments, small};
    Ignore ignore;
    feed::IexMessageWriter writer;
    const auto decode = [&](std::uint32_t session, std::uint64_t first) {
        feed::IexEncoder encoder{{.protocol = feed::iex_layout::kDeep,
                                  .session = {.number = session, .channel = 1},
                                  .first_sequence = first}};
        std::array<std::byte, 128> buffer;
        encoder.begin(buffer);
        EXPECT_TRUE(encoder.add(writer.level('8', "AAPL", 1, 1, true)));
        static_cast<void>(decoder.decode(encoder.finish(9), {.receive_utc_ns = 5}, ignore));
    };
    SnapRebuild<feed::IexDeepDecoder> rebuild{
        {.feed = "late", .snapshots = options(), .books = {.decoder = small, .instruments = 16}, .first_pause_ns = 1},
        {},
        std::pmr::get_default_resource()};
    const auto until = [&](const auto& done) {
        const auto deadline = core::monotonic_nanos() + 60'000'000'000;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            rebuild.beat(decoder);
            rebuild.adopt(decoder, 0, ignore);
            std::this_thread::yield();
        }
        return true;
    };
    const auto failures = [&] {
        std::uint64_t value = 0;
        rebuild.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "snap_failures") value = tally.read();
        });
        return value;
    };
    decode(1, 50);
    ASSERT_TRUE(until([&] { return peer_.has_caller(); }));
    peer_.accept();
    ASSERT_TRUE(until([&] { return peer_.received().size() == feed::iex_snap::kRequestBytes; }));
    answer('S');
    ASSERT_TRUE(until([&] { return failures() == 1; }));
    int beats = 0;
    ASSERT_TRUE(until([&] { return ++beats == 200; }));
    EXPECT_FALSE(peer_.has_caller()) << "the same answer would follow";
    decode(2, 50);
    decode(2, 51);
    ASSERT_EQ(decoder.session().number, 2U);
    EXPECT_TRUE(until([&] { return peer_.has_caller(); }));
}

}  // namespace
}  // namespace millpond::gateway::iex
