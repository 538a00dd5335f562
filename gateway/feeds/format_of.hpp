#pragma once

#include <any>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/sequencing.hpp>

#include "gateway/receive/feed_of.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/format.hpp"
#include "service/settings/key_of.hpp"

namespace millpond::gateway {

/// The formats with the key `depth` describe it alike.
inline constexpr std::string_view kDepthHelp =
    "Price levels of a side to publish; 0 for best prices only. itch, iex-deep, iex-deep-plus: up to 50, or \"full\"; "
    "quotes: the depth of the "
    "sender's udp sink, up to 33.";

/// Gives a format the types of its settings and its decoder. A format derives from it and defines:
///
///     class Format final : public FeedFormatOf<Settings, feed::Bbo28Decoder> {
///         std::string_view name() const noexcept override { return "bbo28"; }
///         std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings&, const FeedHost& host) const override;
///     };
///
/// Settings: equality comparable; a default-constructed object has the defaults.
template <class Settings, class Decoder>
class FeedFormatOf : public FeedFormat {
public:
    [[nodiscard]] bool sequenced() const noexcept final { return feed::Sequenced<Decoder>; }
    [[nodiscard]] std::string default_venue() const final {
        if constexpr (kHasVenue) return std::string{typename Decoder::Options{}.venue.view()};
        return {};
    }
    [[nodiscard]] bool carries_venues() const noexcept final { return !kHasVenue; }
    [[nodiscard]] std::vector<settings::KeyText> keys() const final { return settings::texts_of(table()); }
    [[nodiscard]] std::any defaults() const final { return Settings{}; }
    [[nodiscard]] bool assign(std::any& any, std::string_view name, const settings::Value& value) const final {
        for (const auto& key : table()) {
            if (key.name == name) return key.assign(std::any_cast<Settings&>(any), value), true;
        }
        return false;
    }
    [[nodiscard]] bool equal(const std::any& left, const std::any& right) const final {
        return typed(left) == typed(right);
    }
    void complete(std::any& any, FeedConfig& feed, const std::string& user) const final {
        complete(std::any_cast<Settings&>(any), feed, user);
    }
    void check(const std::any& any) const final { check(typed(any)); }
    [[nodiscard]] net::SocketAddress snapshot_server(const std::any& any) const final {
        if constexpr (requires(const Settings& settings) { settings.snap; }) return typed(any).snap;
        return {};
    }
    [[nodiscard]] market::ChannelDepth depth(const std::any& any) const final { return depth(typed(any)); }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const std::any& any,
                                             const FeedHost& host) const final {
        return open(feed, typed(any), host);
    }
    [[nodiscard]] std::optional<Numbers> numbers(std::span<const std::byte> datagram) const final {
        if constexpr (feed::Sequenced<Decoder>) {
            using Sequencing = feed::Sequencing<Decoder>;
            if (const auto read = Sequencing::read(datagram))
                return Numbers{Sequencing::name_of(read->session), read->first, read->count};
        }
        return std::nullopt;
    }
    [[nodiscard]] Probe probe(feed::InstrumentTable& instruments) const final {
        const auto decoder = std::make_shared<Decoder>(instruments, typename Decoder::Options{});
        return [decoder](std::span<const std::byte> datagram) {
            Ignored ignored;
            return decoder->decode(datagram, {.receive_utc_ns = core::utc_nanos(), .receive_ticks = 0, .channel = 0},
                                   ignored);
        };
    }

protected:
    using OpenFeed = FeedOf<Decoder>;

    [[nodiscard]] virtual std::span<const settings::Key<Settings>> table() const { return {}; }
    virtual void complete(Settings&, FeedConfig&, const std::string& /*user*/) const {}
    virtual void check(const Settings&) const {}
    [[nodiscard]] virtual market::ChannelDepth depth(const Settings&) const { return {}; }
    [[nodiscard]] virtual std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                                     const FeedHost& host) const = 0;

    /// Sets the feed's venue; if it is empty, keeps the decoder's default.
    static void set_venue(typename Decoder::Options& options, const FeedConfig& feed) {
        if (!feed.venue.empty()) options.venue = feed::Venue{feed.venue};
    }

private:
    static constexpr bool kHasVenue = requires(typename Decoder::Options& options) { options.venue; };
    struct Ignored {
        void on(const feed::Quote&) {}
        void on(const feed::Trade&) {}
        void on(const feed::TradeBreak&) {}
        void on(const feed::Status&) {}
        void on(const feed::Gap&) {}
        void on(const feed::Clear&) {}
    };
    static const Settings& typed(const std::any& any) { return std::any_cast<const Settings&>(any); }
};

}  // namespace millpond::gateway
