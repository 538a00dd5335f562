#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <millpond/core/tally.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/net/soupbin_connection.hpp>

namespace millpond::gateway::itch {

/// Reads snapshots from a GLIMPSE 5.0 server, one after the other.
///
/// Threads: one; counters on any.
/// Memory:  SoupBinConnection.
/// Source:  glimpse_layout.hpp; page 2: the login must request message 1.
class GlimpseReader {
public:
    struct Options {
        net::SoupBinOptions login{};  ///< Server, user and password; empty server: none.
        [[nodiscard]] bool is_set() const noexcept { return !login.server.empty(); }
    };

    /// patience: time without a message of the snapshot, but with heartbeats, after which it fails.
    explicit GlimpseReader(const Options& options, std::chrono::nanoseconds patience = std::chrono::seconds{30})
        : connection_(options.login), patience_(patience) {}

    /// Reads a snapshot of this session, of any message. visit(message): called for each ITCH message in it. goes_on():
    /// asked several times a second; if it returns false, the snapshot is cancelled. Returns the number of the first
    /// message that the snapshot does not have; 0 if it was cancelled. Throws std::runtime_error with the reason for a
    /// snapshot that cannot be had or is not one.
    std::uint64_t read(const feed::moldudp64_layout::Session& session, std::uint64_t,
                       const std::function<void(std::span<const std::byte>)>& visit,
                       const std::function<bool()>& goes_on);

    [[nodiscard]] std::string server() const { return connection_.server().to_string(); }
    [[nodiscard]] static std::int64_t pause_ns() noexcept { return 0; }
    /// Snapshots that were read to their end.
    [[nodiscard]] const core::Tally& snapshots() const noexcept { return snapshots_; }
    template <class Visitor>
    static void visit_counters(const Visitor&) noexcept {}

private:
    net::SoupBinConnection connection_;
    std::chrono::nanoseconds patience_;
    core::Tally snapshots_;
};

}  // namespace millpond::gateway::itch
