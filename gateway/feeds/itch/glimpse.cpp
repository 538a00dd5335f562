#include "gateway/feeds/itch/glimpse.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <poll.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/glimpse_layout.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::gateway::itch {
namespace {

constexpr int kWaitMs = 20;
constexpr std::int64_t kBeatNs = 100'000'000;

/// Handler of a connection: passes on the messages up to the end of the snapshot.
struct Snapshot {
    net::SoupBinConnection& connection;
    std::string_view session;
    const std::function<void(std::span<const std::byte>)>& visit;
    std::uint64_t end{0};
    std::string error;
    bool has_moved{false};  // a message came since the last beat

    void on_login(const net::soupbin::Session& name, std::uint64_t next) {
        if (name.view() != session) {
            fail(fmt::format("its snapshots are of session '{}', but the feed is in session '{}'", name.view(),
                             session));
        } else if (next != 1) {
            fail(fmt::format("it begins its snapshot with message {} instead of 1", next));
        }
    }
    void on_message(std::span<const std::byte> message, std::uint64_t number) {
        if (end != 0) return;
        has_moved = true;
        const char type = message.empty() ? '\0' : static_cast<char>(message[0]);
        if (type == feed::glimpse_layout::kEnd) {
            end = feed::glimpse_layout::read_end(message).value_or(0);
            if (end == 0) fail(fmt::format("the end of its snapshot, message {}, has no valid number", number));
        } else if (!feed::glimpse_layout::is_state(type)) {
            fail(fmt::format("message {} of its snapshot has the type {:#x}, which snapshots do not have", number,
                             static_cast<unsigned char>(type)));
        } else {
            visit(message);
        }
    }
    void on_heartbeat() noexcept {}
    void on_end_of_session() {
        if (end == 0) fail("it ended its session before the end of the snapshot");
    }
    void fail(std::string why) {
        error = std::move(why);
        connection.fail(net::SoupBinFailure::closed);
    }
};

struct Close {
    void operator()(net::SoupBinConnection* connection) const noexcept { connection->close(); }
};

}  // namespace

std::uint64_t GlimpseReader::read(const feed::moldudp64_layout::Session& session, std::uint64_t,
                                  const std::function<void(std::span<const std::byte>)>& visit,
                                  const std::function<bool()>& goes_on) {
    const auto name = feed::Sequencing<feed::ItchDecoder>::name_of(session);
    Snapshot snapshot{.connection = connection_, .session = name.view(), .visit = visit, .error = {}};
    const std::unique_ptr<net::SoupBinConnection, Close> closes_at_the_end{
        &connection_};  // visit and goes_on may throw
    connection_.open({}, 1);
    const auto& unknown = connection_.counters().unknown;
    const auto unknown_before = unknown.read();
    std::int64_t beat_ns = 0;
    auto moved_ns = core::monotonic_nanos();
    while (snapshot.end == 0 && connection_.is_open()) {
        const bool idle = connection_.poll(snapshot) == 0;
        if (unknown.read() != unknown_before) {
            snapshot.end = 0;
            snapshot.fail("it sent a packet of an unknown type");
            break;
        }
        const auto now = core::monotonic_nanos();
        if (now - beat_ns >= kBeatNs) {
            beat_ns = now;
            connection_.on_timer(now);
            if (!goes_on()) return 0;
            if (std::exchange(snapshot.has_moved, false) || !connection_.is_logged_in()) moved_ns = now;
            if (now - moved_ns > patience_.count()) {
                snapshot.fail(fmt::format("it sent heartbeats for {:.0f} s, but no message of its snapshot",
                                          std::chrono::duration<double>{patience_}.count()));
                break;
            }
        }
        if (!idle || !connection_.is_open()) continue;
        pollfd ready{.fd = connection_.fd(), .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, kWaitMs);
    }
    if (snapshot.end != 0) {
        snapshots_.add();
        return snapshot.end;
    }
    const auto why =
        snapshot.error.empty() ? net::to_string(connection_.failure(), connection_.failure_detail()) : snapshot.error;
    throw std::runtime_error(fmt::format("the GLIMPSE server {}: {}", server(), why));
}

}  // namespace millpond::gateway::itch
