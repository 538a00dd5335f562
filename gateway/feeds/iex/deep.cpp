#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_snap.hpp>

#include "gateway/feeds/book_keys.hpp"
#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "gateway/feeds/iex/snap_rebuild.hpp"
#include "gateway/feeds/rerequest_keys.hpp"
#include "service/config_error.hpp"
#include "service/out_of_memory.hpp"
#include "service/token.hpp"

namespace millpond::gateway::iex {
namespace {

template <class Settings>
constexpr settings::Key<Settings> channel_key() {
    return settings::KeyOf<Settings>::template integer<&Settings::iex_channel, 0,
                                                       std::numeric_limits<std::uint32_t>::max()>("iex_channel", "N",
                                                                                                  kChannelHelp);
}

template <class Settings>
constexpr settings::Key<Settings> snap_key() {
    return settings::KeyOf<Settings>::template endpoint<&Settings::snap>(
        "snap", "iex-deep, iex-deep-plus: rebuild incomplete books from snapshots of this SNAP server.");
}

template <class Settings>
constexpr settings::Key<Settings> snap_token_key() {
    return settings::KeyOf<Settings>::template file<[](auto& s) -> auto& { return s.snap_token.file; }>(
        "snap_token_file", "iex-deep, iex-deep-plus: file whose first line is the token for snap.");
}

/// Throws ConfigError.
std::string token_of(const DeepSettings& settings) {
    auto token = service::read_secret(settings.snap_token, "snap_token");
    if (token.size() > feed::iex_snap::kTokenBytes) {
        throw service::ConfigError(fmt::format("token file '{}': has {} characters, SNAP allows {}",
                                               settings.snap_token.file, token.size(), feed::iex_snap::kTokenBytes));
    }
    return token;
}

void check_settings(const DeepSettings& settings) {
    if (!settings.snap.empty()) static_cast<void>(token_of(settings));
}

void complete_settings(DeepSettings& settings, const std::string& user) {
    check_rerequest(settings, !settings.snap.empty(), user);
    check_server("snap", settings.snap, user);
    const auto need = [&](bool is_without_effect, std::string_view key, std::string_view needed) {
        if (is_without_effect) throw service::ConfigError(fmt::format("{}: {}: needs {}", user, key, needed));
    };
    if (settings.snap.empty()) {
        need(!settings.snap_token.empty(), "snap_token_file", "snap");
        need(settings.rebuild_buffer != kRebuildBuffer, "rebuild_buffer", "snap");
        return;
    }
    need(settings.snap_token.empty(), "snap", "snap_token_file");
    settings.rerequest_start = false;  // the snapshot has the state before the start
}

/// The feed, with rebuilds from snapshots if there is a server. books: what they need, for a message.
template <class Decoder>
std::unique_ptr<Feed> open_feed(const FeedConfig& feed, const DeepSettings& settings, const FeedOptions& options,
                                const FeedHost& host, const typename Decoder::Options& decoder, std::uint16_t protocol,
                                const std::string& books) {
    using Rebuild = SnapRebuild<Decoder>;
    auto opened = service::need_memory(books, [&] {
        return std::make_unique<FeedOf<Decoder, Rebuild>>(feed, options, host.instruments, decoder, host.memory);
    });
    if (settings.snap.empty()) return opened;
    if (feed.state.empty()) {
        throw service::ConfigError(fmt::format(
            "feed '{}': snap: needs the top-level key state, a folder where requests are counted", feed.name));
    }
    typename Rebuild::Options rebuild;
    rebuild.feed = feed.name;
    rebuild.snapshots = {.server = settings.snap,
                         .token = token_of(settings),
                         .protocol = protocol,
                         .quota_file = fmt::format("{}/snap-requests.{}.", feed.state, feed.format.name()),
                         .max_orders = decoder.order_books.orders};
    rebuild.server = settings.rerequest;
    rebuild.books = {.decoder = decoder, .instruments = host.instruments.capacity()};
    rebuild.buffer_bytes = settings.rebuild_buffer;
    rebuild.rerequests = rerequester_options(settings);
    opened->rebuild_with(
        service::need_memory(fmt::format("rebuild_buffer = {} and {}", settings.rebuild_buffer, books),
                             [&] { return std::make_unique<Rebuild>(rebuild, host.log, host.memory); }));
    return opened;
}

constexpr settings::Key<DeepSettings> kDeepKeys[] = {
    depth_key<DeepSettings>(),         channel_key<DeepSettings>(),      rerequest_key<DeepSettings>(),
    rerequest_tcp_key<DeepSettings>(), rerequest_ms_key<DeepSettings>(), rerequest_start_key<DeepSettings>(),
    snap_key<DeepSettings>(),          snap_token_key<DeepSettings>(),   rebuild_buffer_key<DeepSettings>(),
};

using K = settings::KeyOf<DeepPlusSettings>;
constexpr settings::Key<DeepPlusSettings> kDeepPlusKeys[] = {
    depth_key<DeepPlusSettings>(),
    K::boolean<&DeepPlusSettings::orders>("orders", kOrdersHelp),
    K::integer<&DeepPlusSettings::max_orders, 1, kMaxOrders>("max_orders", "N", kMaxOrdersHelp),
    channel_key<DeepPlusSettings>(),
    rerequest_key<DeepPlusSettings>(),
    rerequest_tcp_key<DeepPlusSettings>(),
    rerequest_ms_key<DeepPlusSettings>(),
    rerequest_start_key<DeepPlusSettings>(),
    snap_key<DeepPlusSettings>(),
    snap_token_key<DeepPlusSettings>(),
    rebuild_buffer_key<DeepPlusSettings>(),
};

class DeepFormat final : public FeedFormatOf<DeepSettings, feed::IexDeepDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "iex-deep"; }

protected:
    [[nodiscard]] std::span<const settings::Key<DeepSettings>> table() const override { return kDeepKeys; }
    void complete(DeepSettings& settings, FeedConfig&, const std::string& user) const override {
        complete_settings(settings, user);
    }
    void check(const DeepSettings& settings) const override { check_settings(settings); }
    [[nodiscard]] market::ChannelDepth depth(const DeepSettings& settings) const override {
        return {.depth = settings.depth, .orders = false};
    }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const DeepSettings& settings,
                                             const FeedHost& host) const override {
        feed::IexDeepDecoder::Options options;
        set_venue(options, feed);
        options.iex_channel = settings.iex_channel;
        options.order_books = books_for(host.instruments.capacity(), 1);  // levels without orders
        options.depth = settings.depth;
        return open_feed<feed::IexDeepDecoder>(feed, settings,
                                               {.rerequest = static_cast<const RerequestSettings&>(settings)}, host,
                                               options, feed::iex_layout::kDeep, "books of levels");
    }
};

class DeepPlusFormat final : public FeedFormatOf<DeepPlusSettings, feed::IexDeepPlusDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "iex-deep-plus"; }

protected:
    [[nodiscard]] std::span<const settings::Key<DeepPlusSettings>> table() const override { return kDeepPlusKeys; }
    void complete(DeepPlusSettings& settings, FeedConfig&, const std::string& user) const override {
        complete_settings(settings, user);
    }
    void check(const DeepPlusSettings& settings) const override { check_settings(settings); }
    [[nodiscard]] market::ChannelDepth depth(const DeepPlusSettings& settings) const override {
        return {.depth = settings.depth, .orders = settings.orders};
    }
    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const DeepPlusSettings& settings,
                                             const FeedHost& host) const override {
        feed::IexDeepPlusDecoder::Options options;
        set_venue(options, feed);
        options.iex_channel = settings.iex_channel;
        options.order_books = books_for(host.instruments.capacity(), settings.max_orders);
        options.depth = settings.depth;
        options.orders = settings.orders;
        return open_feed<feed::IexDeepPlusDecoder>(
            feed, settings,
            {.rerequest = static_cast<const RerequestSettings&>(settings),
             .table = FeedTable{.name = "orders", .capacity = settings.max_orders, .bound = "max_orders"}},
            host, options, feed::iex_layout::kDeepPlus, fmt::format("books for max_orders = {}", settings.max_orders));
    }
};

}  // namespace

const FeedFormat& DeepSettings::format() noexcept {
    static const DeepFormat format;
    return format;
}

const FeedFormat& DeepPlusSettings::format() noexcept {
    static const DeepPlusFormat format;
    return format;
}

}  // namespace millpond::gateway::iex
