#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/files/itch_file_reader.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "itch_fault.hpp"
#include "source.hpp"

namespace millpond::python {

/// An ITCH message as stored in its file.
struct ItchMessage {
    std::span<const std::byte> bytes{};
    std::uint64_t number{0};         ///< Number in the file, or in its MoldUDP64 session.
    std::int64_t receive_utc_ns{0};  ///< Receive time of its datagram; 0: none.
    std::uint16_t channel{0};        ///< Number of the channel, by the datagram's destination.
    bool follows_loss{false};        ///< Messages of the channel before this one are missing.
    bool new_session{false};         ///< The channel's first message, or the first one of a new session.
};

/// Reads the ITCH messages of a file, in which each follows its length, or of a capture's MoldUDP64 datagrams. Messages
/// of a capture that were received before on their channel are skipped. Messages of unknown types and of wrong lengths
/// are reported and skipped.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB, whatever the file's size.
class ItchMessages {
public:
    /// Throws std::system_error, files::FileFormatError and std::invalid_argument.
    ItchMessages(const Source::Options& options, bool capture);

    /// Reads the next message, valid until the next call. Returns false at the end of the file, or at damage.
    [[nodiscard]] bool next(ItchMessage& message);

    [[nodiscard]] Source::Counts counts() const;
    [[nodiscard]] std::uint64_t offset() const noexcept;
    [[nodiscard]] const ErrorList& errors() const noexcept { return errors_; }
    /// Reports that the message that was read last could not be applied. stock: stock of the message's locate.
    void note(const ItchMessage& message, feed::ItchFault fault, std::string_view stock = {});

private:
    struct Channel {
        net::SocketAddress address{};
        feed::moldudp64_layout::Session session{};
        std::uint64_t next{0};  ///< Sequence number; 0: no session yet.
        bool follows_loss{false};
        bool new_session{true};
    };

    [[nodiscard]] bool next_of_capture(ItchMessage& message);
    void take_datagram(const files::CapturedDatagram& datagram);
    [[nodiscard]] Channel* channel_of(const net::SocketAddress& address);
    void reject(const ItchMessage& message);
    [[nodiscard]] std::string frame() const;

    static constexpr std::size_t kMaxChannels = 64;
    std::string name_;
    std::variant<files::ItchFileReader, files::PcapReader> reader_;
    std::optional<net::SocketAddress> only_;
    std::vector<Channel> channels_;
    std::vector<ItchMessage> ready_;  // messages of the datagram that was read last
    std::size_t given_{0};
    std::uint64_t messages_{0};
    std::uint64_t repeated_{0};
    std::uint64_t lost_{0};
    std::uint64_t rejected_{0};
    ErrorList errors_;
};

}  // namespace millpond::python
