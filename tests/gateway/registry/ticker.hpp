#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>

#include "gateway/feeds/format_of.hpp"
#include "service/config_error.hpp"

/// A feed format outside of the gateway's folders, with everything that a new format needs.
namespace millpond::gateway::ticker {

/// Decodes datagrams of eight bytes, each an ask price of the only instrument in the machine's byte order.
class Decoder {
public:
    struct Options {
        feed::Venue venue{"TICK"};
        std::uint64_t lot{1};
    };
    Decoder(feed::InstrumentTable& instruments, const Options& options)
        : instruments_(instruments), options_(options) {}

    template <class Handler>
    feed::DecodeResult decode(std::span<const std::byte> datagram, const feed::Arrival& arrival, Handler& handler) {
        counters_.datagrams.add();
        feed::Quote quote;
        if (datagram.size() != sizeof quote.ask_price) {
            counters_.add_malformed(datagram.size());
            return {.error = feed::DecodeError{feed::DecodeErrorKind::bad_length, 0, datagram.size(), 8}};
        }
        std::memcpy(&quote.ask_price, datagram.data(), datagram.size());
        quote.ask_size = static_cast<decltype(quote.ask_size)>(options_.lot);
        quote.instrument = instruments_.find_or_add(options_.venue, feed::Symbol{"ONLY"});
        quote.channel = arrival.channel;
        quote.receive_utc_ns = arrival.receive_utc_ns;
        quote.receive_ticks = arrival.receive_ticks;
        counters_.quotes.add();
        ticks_.add();
        handler.on(quote);
        return {.messages = 1};
    }
    [[nodiscard]] const feed::DecodeCounters& counters() const noexcept { return counters_; }
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        visitor("ticks", "Prices of the ticker.", ticks_);
    }

private:
    feed::InstrumentTable& instruments_;
    Options options_;
    feed::DecodeCounters counters_;
    core::Tally ticks_;
};

struct Settings {
    std::uint64_t lot{7};
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

class Format final : public FeedFormatOf<Settings, Decoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "ticker"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override {
        static constexpr settings::Key<Settings> kKeys[] = {
            settings::KeyOf<Settings>::integer<&Settings::lot, 1, 1'000>("lot_size", "N",
                                                                         "ticker: size of each quote."),
        };
        return kKeys;
    }
    void complete(Settings& settings, FeedConfig&, const std::string& user) const override {
        if (settings.lot == 13) throw service::ConfigError(user + ": lot_size: 13 is not traded");
    }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                             const FeedHost& host) const override {
        Decoder::Options options{.lot = settings.lot};
        set_venue(options, feed);
        return std::make_unique<OpenFeed>(feed, FeedOptions{}, host.instruments, options);
    }
};

inline const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::ticker
