#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/quotes_layout.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// Reads `quotes` datagrams (quotes_layout.hpp) of one channel and makes a Quote of each quote in them.
///
/// A new session, a new generation and a sender that began again make a Clear first, jumped-over numbers and a quote
/// whose names cannot be read a Gap. Late and duplicated quotes are counted and not applied, nor is a datagram of
/// another channel. A session changes once the new one is confirmed (ConfirmedSession); it begins with message 1.
///
/// Threads: one; counters() and sequence() may be read on any.
/// Memory:  a ConfirmedSession, taken in the constructor.
class QuotesDecoder {
public:
    struct Options {
        std::optional<std::uint16_t> wire_channel{};  ///< Without one, that of the first datagram.
    };

    struct Session {
        std::uint64_t number{0};
        std::uint16_t channel{0};
        friend bool operator==(const Session&, const Session&) = default;
    };

    QuotesDecoder(InstrumentTable& instruments, const Options& options,
                  std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : instruments_(&instruments), wire_channel_(options.wire_channel), sessions_(memory) {}

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// A new session, as a LineArbiter has found out: everything is forgotten, and its message 1 comes next.
    template <EventHandler Handler>
    void begin_session(const Session& session, std::uint64_t, const Arrival& arrival, Handler& handler) {
        emit(counters_, handler, make_clear(arrival, ClearReason::new_session));
        sessions_.enter(session.number);
        tracker_.start(1);
        generation_.reset();
    }

    /// The sender begins again at `first`, as a LineArbiter has found out: everything is forgotten.
    template <EventHandler Handler>
    void begin_again(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        emit(counters_, handler, make_clear(arrival, ClearReason::new_session));
        tracker_.restart(first);
        generation_.reset();
    }

    /// Whether all of the datagram can be read.
    [[nodiscard]] static bool is_whole(std::span<const std::byte> datagram) noexcept { return !check(datagram).error; }

    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// Of the datagram that was applied last.
    [[nodiscard]] Session session() const noexcept { return {sessions_.session(), wire_channel_.value_or(0)}; }
    /// Datagrams of other sessions and channels, which were not applied.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return sessions_.strays().read() + other_channels_.read(); }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        tracker_.counters().visit(visitor);
        visitor("session_strays", "Datagrams of another session that was not confirmed.", sessions_.strays());
        visitor("other_channels", "Datagrams of other channels of the group.", other_channels_);
    }

private:
    using Sessions = ConfirmedSession<std::uint64_t>;
    struct Header {
        std::uint64_t session;
        std::uint64_t sequence;
        std::uint32_t generation;
        std::uint16_t channel;
        std::uint16_t count;
    };
    /// A datagram whose lengths have been checked. What is wrong with it is in `error`; the first `quotes` are whole.
    struct Checked {
        Header header{};
        std::uint32_t quotes{0};
        std::size_t end{0};  ///< Byte behind the last whole quote; 0 when not even the header could be read.
        std::optional<DecodeError> error{};
    };

    [[nodiscard]] static Checked check(std::span<const std::byte> datagram) noexcept;
    [[nodiscard]] static std::optional<DecodeError> check_header(std::span<const std::byte> datagram,
                                                                 Header& header) noexcept;
    [[nodiscard]] static std::optional<DecodeError> check_quote(std::span<const std::byte> datagram,
                                                                std::size_t at) noexcept;
    [[nodiscard]] static std::size_t quote_bytes(const std::byte* quote) noexcept {
        namespace at = quotes_layout;
        return at::kNamesAt + static_cast<std::size_t>(quote[at::kSymbolLengthAt]) +
               static_cast<std::size_t>(quote[at::kVenueLengthAt]);
    }
    /// Applies a datagram of the current session.
    template <class Handler>
    void apply(std::span<const std::byte> datagram, const Checked& checked, const Arrival& arrival, Handler& handler);
    /// A datagram of another session: applies it, and what was held of that session, if it is the current one now. How
    /// many quotes were looked at.
    template <class Handler>
    [[nodiscard]] std::uint32_t apply_other(const Sessions::Datagram& datagram, const Checked& checked,
                                            Handler& handler);
    /// Follows generation and sequence numbers; how many of the first `whole` quotes must not be applied.
    template <class Handler>
    std::uint64_t follow(const Header& header, std::uint64_t whole, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void apply_quote(const std::byte* bytes, std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    InstrumentTable* instruments_;
    std::optional<std::uint16_t> wire_channel_;
    Sessions sessions_;
    std::optional<std::uint32_t> generation_;
    SequenceTracker tracker_;
    DecodeCounters counters_;
    core::Tally other_channels_;
};

template <>
struct Sequencing<QuotesDecoder> {
    using Session = QuotesDecoder::Session;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        namespace at = quotes_layout;
        const auto* const data = bytes.data();
        if (bytes.size() < at::kHeaderBytes || core::load_le<std::uint32_t>(data + at::kMagicAt) != at::kMagic)
            return std::nullopt;
        const SequencedDatagram<Session> numbers{
            .session = {.number = core::load_le<std::uint64_t>(data + at::kSessionAt),
                        .channel = core::load_le<std::uint16_t>(data + at::kChannelAt)},
            .first = core::load_le<std::uint64_t>(data + at::kSequenceAt),
            .count = core::load_le<std::uint16_t>(data + at::kCountAt)};
        constexpr auto kLast = std::numeric_limits<std::uint64_t>::max() - at::kMaxQuotes - 1;
        if (numbers.first == 0 || numbers.first > kLast || numbers.count > at::kMaxQuotes) return std::nullopt;
        return numbers;
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return QuotesDecoder::is_whole(bytes);
    }
    [[nodiscard]] static SessionName name_of(const Session& session) noexcept { return number_name(session.number); }
    [[nodiscard]] static bool same_channel(const Session& left, const Session& right) noexcept {
        return left.channel == right.channel;
    }
};

}  // namespace millpond::feed

#include <millpond/feed/detail/quotes_decoder_impl.hpp>
