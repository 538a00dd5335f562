#include "apps/millpond/traffic/capture_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/format.hpp"

namespace millpond::app {
namespace {

constexpr std::size_t kMaxDatagrams = 200;
constexpr std::size_t kMaxInstruments = 16'384;

/// A format's decoder and the number of datagrams that it decoded.
struct Candidate {
    explicit Candidate(const gateway::FeedFormat& format)
        : name(format.name()),
          has_header(format.sequenced()),  // formats without a header accept any datagram
          instruments(std::make_unique<feed::InstrumentTable>(kMaxInstruments)),
          decode(format.probe(*instruments)) {}

    std::string_view name;
    bool has_header;
    std::unique_ptr<feed::InstrumentTable> instruments;
    gateway::FeedFormat::Probe decode;
    std::size_t decoded{0};
};

/// Decodes the first datagrams of a capture with each format's decoder.
class Sample {
public:
    explicit Sample(const std::string& path) {
        for (const auto* format : gateway::builtin_feed_formats()) candidates_.emplace_back(*format);
        files::PcapReader reader{path};
        files::CapturedDatagram datagram;
        while (count_ < kMaxDatagrams && reader.next(datagram)) add(datagram);
        frames_ = reader.counts().frames;
    }

    /// Returns the detected format; empty if there is none.
    [[nodiscard]] std::string_view format() const {
        const Candidate* best = nullptr;
        for (const auto& one : candidates_) {
            if (one.has_header && one.decoded != 0 && (best == nullptr || one.decoded > best->decoded)) best = &one;
        }
        return best == nullptr ? std::string_view{} : best->name;
    }
    [[nodiscard]] bool has(std::string_view format) const {
        return std::ranges::any_of(candidates_,
                                   [&](const auto& one) { return one.name == format && one.decoded != 0; });
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
    /// Description of the first datagram: "98 bytes to 239.1.1.1:14000 that begin with 01000380..."
    [[nodiscard]] const std::string& first() const noexcept { return first_; }

private:
    void add(const files::CapturedDatagram& datagram) {
        if (count_++ == 0) {
            constexpr std::size_t kShown = 16;
            std::string hex;
            for (const auto byte : datagram.payload.first(std::min(datagram.payload.size(), kShown))) {
                hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
            }
            first_ = fmt::format("{} bytes to {} that begin with {}", datagram.payload.size(),
                                 datagram.destination.to_string(), hex);
        }
        for (auto& one : candidates_) {
            if (one.decode(datagram.payload).ok()) ++one.decoded;
        }
    }

    std::vector<Candidate> candidates_;
    std::size_t count_{0};
    std::uint64_t frames_{0};
    std::string first_;
};

}  // namespace

std::string format_of_capture(const std::string& path, const std::string& wanted) {
    const Sample sample{path};
    if (sample.count() == 0)
        throw UsageError(fmt::format("'{}' has no UDP datagram among its {} frames", path, sample.frames()));
    const auto format = sample.format();
    if (!wanted.empty() && sample.has(wanted)) return wanted;
    if (!wanted.empty()) {
        const auto found = format.empty() ? fmt::format("the first has {}", sample.first())
                                          : fmt::format("they are of format {}", format);
        throw UsageError(fmt::format("none of the first {} datagrams of '{}' is of format {}: {}", sample.count(), path,
                                     wanted, found));
    }
    if (format.empty()) {
        throw UsageError(
            fmt::format("the format of '{}' cannot be detected from its first {} datagrams, of which the first has {}; "
                        "use --format, or FORMAT= of make demo",
                        path, sample.count(), sample.first()));
    }
    return std::string{format};
}

std::string detected_format(const std::string& path) { return std::string{Sample{path}.format()}; }

traffic::LineReport::ReadNumbers numbers_of(std::string_view format) {
    for (const auto* each : gateway::builtin_feed_formats()) {
        if (each->name() != format) continue;
        return [each](std::span<const std::byte> datagram) { return each->numbers(datagram); };
    }
    return [](std::span<const std::byte>) { return std::nullopt; };
}

}  // namespace millpond::app
