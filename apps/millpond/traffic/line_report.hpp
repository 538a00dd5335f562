#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <millpond/feed/sequencing.hpp>
#include <millpond/files/pcap_reader.hpp>
#include <millpond/metrics/latency_histogram.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/settings/format.hpp"

namespace millpond::traffic {

/// Gaps of each line that a report lists unless another number is asked for.
inline constexpr std::uint32_t kReportedGaps = 20;

/// What each line of a capture carried: rate, gaps, duplicates, reordering; which of two lines with the same datagrams
/// was first, and by how much; which line had the messages of another line's gaps.
///
/// A line is a destination address, for each interface of the capture. Lines are of one feed if they carried an equal
/// datagram with the same numbers, each once, among the last kRemembered datagrams.
///
/// Threads: one.
/// Memory:  about 100 bytes for each remembered datagram and 64 for each gap, both bounded; 72 KiB for each pair of
///          lines.
class LineReport {
public:
    static constexpr std::size_t kMaxLines = 256;
    static constexpr std::size_t kRemembered = std::size_t{1} << 18U;
    static constexpr std::size_t kMaxGaps = 65'536;  ///< Of a session on a line.
    static constexpr std::size_t kMaxSessions = 64;  ///< Of a line.

    using Numbers = gateway::FeedFormat::Numbers;
    using ReadNumbers = std::function<std::optional<Numbers>(std::span<const std::byte> datagram)>;

    /// read: reads the numbers of a datagram; returns nullopt for a format without.
    explicit LineReport(ReadNumbers read) : read_(std::move(read)) {}

    void add(const files::CapturedDatagram& datagram);

    /// The report, with a line for each of at most `gaps` gaps of each line.
    [[nodiscard]] std::string text(std::size_t gaps) const;

private:
    struct Gap {
        std::uint64_t last{0};
        std::int64_t utc_ns{0};  // of the datagram after it
    };
    /// The messages of a session on a line.
    struct Session {
        feed::SessionName name;
        std::uint64_t first{0};
        std::uint64_t next{0};
        std::uint64_t messages{0};
        std::uint64_t datagrams{0};   // with messages
        std::uint64_t duplicates{0};  // datagrams that brought nothing new
        std::uint64_t reordered{0};   // datagrams with messages of an earlier gap
        std::map<std::uint64_t, Gap> gaps;
        std::uint64_t forgotten{0};  // gaps above kMaxGaps
    };
    /// Datagrams in the fullest interval of this length.
    struct Peak {
        std::int64_t length_ns{0};
        std::int64_t interval{-1};
        std::uint64_t count{0};
        std::uint64_t most{0};
        void add(std::int64_t utc_ns) noexcept;
    };
    struct Line {
        net::SocketAddress address;
        std::uint32_t interface{0};
        std::uint64_t datagrams{0};
        std::uint64_t bytes{0};
        std::uint64_t unnumbered{0};
        std::uint64_t backwards{0};  // datagrams whose time is before that of the one before
        std::int64_t first_ns{0};
        std::int64_t last_ns{0};
        Peak second{.length_ns = 1'000'000'000};
        Peak millisecond{.length_ns = 1'000'000};
        std::vector<Session> sessions;
        std::uint64_t other_sessions{0};  // datagrams of sessions above kMaxSessions
        std::size_t feed{0};              // number of a line of the same feed
    };
    struct Arrival {
        std::size_t line;
        std::int64_t utc_ns;
    };
    /// By how much one of two lines was first.
    struct Lead {
        std::uint64_t count{0};
        metrics::LatencyHistogram nanos;
    };
    struct Pair {
        std::uint64_t equal{0};  // at the same time
        Lead left;
        Lead right;
    };

    [[nodiscard]] std::optional<std::size_t> line_of(const files::CapturedDatagram& datagram);
    [[nodiscard]] static Session* session_of(Line& line, const feed::SessionName& name);
    /// Counts messages; false if the datagram brought nothing new.
    [[nodiscard]] static bool count(Session& session, const Numbers& numbers, std::int64_t utc_ns);
    static std::uint64_t fill(Session& session, std::uint64_t first, std::uint64_t end);
    void compare(std::size_t line, const Numbers& numbers, const files::CapturedDatagram& datagram);
    void join(std::size_t left, std::size_t right);

    [[nodiscard]] std::string name_of(const Line& line) const;
    void append_line(std::string& out, const Line& line) const;
    void append_gaps(std::string& out, std::size_t at, std::size_t shown) const;
    [[nodiscard]] std::string filled_by(std::size_t at, const Session& session, std::uint64_t first,
                                        std::uint64_t last) const;

    ReadNumbers read_;
    std::vector<Line> lines_;
    std::uint64_t elsewhere_{0};  // datagrams of lines above kMaxLines
    std::unordered_map<std::uint64_t, Arrival> recent_;
    std::deque<std::uint64_t> order_;  // keys of recent_, oldest first
    std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<Pair>> pairs_;
};

}  // namespace millpond::traffic
