#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/feed/generated_feed.hpp>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// A generated feed at an even pace, without an end. The same options give the same datagrams.
class GeneratedSource final : public Source {
public:
    struct Options {
        feed::GeneratedFeed::Options feed{};
        double datagrams_per_second{1'000};
        std::int64_t begin_utc_ns{0};  ///< The venue's time of the first datagram.
    };

    /// Throws std::invalid_argument for options out of range.
    explicit GeneratedSource(const Options& options);

    [[nodiscard]] bool next(Outgoing& out) override;

private:
    Options options_;
    feed::GeneratedFeed feed_;
    std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer_{};
    std::uint64_t count_{0};
};

}  // namespace millpond::traffic
