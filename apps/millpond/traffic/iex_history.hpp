#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/feed/iex_packet.hpp>

namespace millpond::traffic {

/// The messages of IEX-TP datagrams that have been sent, for servers beside a replay: of each channel of each message
/// protocol those of its newest session.
///
/// Threads: any.
/// Memory:  all messages of these sessions, and 32 bytes for each.
class IexHistory {
public:
    /// A message and what its segment's header says of it. Valid during the call that passes it.
    struct Message {
        std::uint64_t number{0};
        std::span<const std::byte> bytes;
        std::uint64_t offset{0};  ///< Of its block in the session's bytes.
        std::int64_t send_utc_ns{0};
    };

    /// Adds the messages of a datagram; other datagrams change nothing.
    void add(std::span<const std::byte> datagram);

    /// Forgets all messages: the capture is sent again.
    void restart();
    /// Number of restarts.
    [[nodiscard]] std::uint64_t restarts() const;

    /// Number of the session's next message, and its offset; nullopt for a session that is not the channel's newest.
    struct Next {
        std::uint64_t number{0};
        std::uint64_t offset{0};
        std::int64_t send_utc_ns{0};  ///< Of the newest segment.
    };
    [[nodiscard]] std::optional<Next> next(std::uint16_t protocol, const feed::IexSession& session) const;

    [[nodiscard]] bool has_channel(std::uint16_t protocol, std::uint32_t channel) const;

    /// Calls visit(message) for the messages of a range that are known, until it returns false or one is missing after
    /// the first known one. Returns the number after the last message for which it returned true; 0 if there was none.
    template <class Visitor>
    std::uint64_t visit(std::uint16_t protocol, const feed::IexSession& session, const feed::IexRange& range,
                        Visitor&& visitor) const;

private:
    struct Record {
        std::size_t begin{0};
        std::uint64_t offset{0};
        std::int64_t send_utc_ns{0};
        std::uint16_t size{0};
        bool is_known{false};
    };
    struct Stream {
        std::uint32_t session{0};
        std::uint64_t first{0};
        Next next{};
        std::vector<Record> records;
        std::vector<std::byte> bytes;
    };
    /// Missing messages of the capture above which a datagram is believed to begin a new sequence.
    static constexpr std::uint64_t kMaxHole = 1'000'000;

    [[nodiscard]] const Stream* find(std::uint16_t protocol, const feed::IexSession& session) const;

    mutable std::mutex mutex_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, Stream> streams_;  // by protocol and channel
    std::uint64_t restarts_{0};
};

template <class Visitor>
std::uint64_t IexHistory::visit(std::uint16_t protocol, const feed::IexSession& session, const feed::IexRange& range,
                                Visitor&& visitor) const {
    const std::lock_guard lock{mutex_};
    const auto* const stream = find(protocol, session);
    if (stream == nullptr) return 0;
    std::uint64_t end = 0;
    for (auto number = std::max(range.first, stream->first); number < stream->next.number && number <= range.last;
         ++number) {
        const auto& record = stream->records[number - stream->first];
        if (!record.is_known) {
            if (end != 0) break;
            continue;
        }
        const auto bytes = std::span{stream->bytes}.subspan(record.begin, record.size);
        if (!visitor(Message{number, bytes, record.offset, record.send_utc_ns})) break;
        end = number + 1;
    }
    return end;
}

}  // namespace millpond::traffic
