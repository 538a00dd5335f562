#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/net/itch_file_reader.hpp>
#include <millpond/net/pcap_reader.hpp>

#include "itch_fault.hpp"
#include "source.hpp"

namespace millpond::python {

/// An ITCH message as it is in its file.
struct ItchMessage {
    std::span<const std::byte> bytes{};
    std::uint64_t number{0};         ///< In the file, or in its MoldUDP64 session.
    std::int64_t receive_utc_ns{0};  ///< Of its datagram; 0: none.
    std::uint16_t channel{0};        ///< By the datagram's destination.
    bool follows_loss{false};        ///< Messages of the channel are missing before this one.
    bool new_session{false};         ///< The channel's first one, or the first one of a new session.
};

/// The ITCH messages of a file: each behind its length, or in MoldUDP64 datagrams of a capture. Of a capture, a message
/// that came before on its channel is left out. Messages of unknown types and of wrong lengths are noted and left out.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB, whatever the file's size.
class ItchMessages {
public:
    /// Throws std::system_error, net::FileFormatError and std::invalid_argument.
    ItchMessages(const Source::Options& options, bool capture);

    /// The next message, valid until the next call. False at the end of the file, or where it cannot be read on.
    [[nodiscard]] bool next(ItchMessage& message);

    [[nodiscard]] Source::Counts counts() const;
    [[nodiscard]] std::uint64_t offset() const noexcept;
    [[nodiscard]] const ErrorList& errors() const noexcept { return errors_; }
    /// Notes that the message which was read last could not be applied.
    void note(const ItchMessage& message, feed::ItchFault fault);

private:
    struct Channel {
        net::SocketAddress address{};
        feed::moldudp64_layout::Session session{};
        std::uint64_t next{0};  ///< Sequence number; 0: no session yet.
        bool follows_loss{false};
        bool new_session{true};
    };

    [[nodiscard]] bool next_of_capture(ItchMessage& message);
    void take_datagram(const net::CapturedDatagram& datagram);
    [[nodiscard]] Channel* channel_of(const net::SocketAddress& address);
    void reject(const ItchMessage& message);
    [[nodiscard]] std::string frame() const;

    static constexpr std::size_t kMostChannels = 64;
    std::string name_;
    std::variant<net::ItchFileReader, net::PcapReader> reader_;
    std::optional<net::SocketAddress> only_;
    std::vector<Channel> channels_;
    std::vector<ItchMessage> ready_;  // of the datagram that was read last
    std::size_t given_{0};
    std::uint64_t messages_{0};
    std::uint64_t repeated_{0};
    std::uint64_t lost_{0};
    std::uint64_t rejected_{0};
    ErrorList errors_;
};

}  // namespace millpond::python
