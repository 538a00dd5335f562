#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/files/itch_file_reader.hpp>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// The messages of an ITCH file as a MoldUDP64 session: messages of the same time share a datagram, the times of the
/// messages determine the intervals, heartbeats fill pauses, and the end of the session is sent three times, since one
/// may be lost.
class ItchSource final : public Source {
public:
    struct Options {
        std::string session{"MILLPOND01"};         ///< Session name of at most ten characters.
        std::int64_t heartbeat_ns{1'000'000'000};  ///< Heartbeat interval in the file's time; 0: none.
        std::size_t max_messages{0};               ///< Maximum number of messages in a datagram; 0: as many as fit.
    };
    static constexpr std::size_t kMaxDatagramBytes = 1'400;

    /// Throws like files::ItchFileReader, and std::invalid_argument for a session that is too long.
    ItchSource(const std::string& path, const Options& options);

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] std::string error() const override { return error_.empty() ? reader_.error() : error_; }
    [[nodiscard]] double fraction() const override;

private:
    [[nodiscard]] bool read_message();
    [[nodiscard]] bool end_session(Outgoing& out);

    std::string path_;
    files::ItchFileReader reader_;
    Options options_;
    std::uint64_t file_bytes_;
    feed::MoldUdp64Encoder encoder_;
    std::array<std::byte, kMaxDatagramBytes> buffer_{};
    std::optional<std::span<const std::byte>> message_;  // message that was read and not sent yet
    std::int64_t message_due_ns_{0};
    std::optional<std::int64_t> first_time_ns_;
    std::int64_t latest_due_ns_{0};
    int ends_sent_{0};
    std::string error_;
};

}  // namespace millpond::traffic
