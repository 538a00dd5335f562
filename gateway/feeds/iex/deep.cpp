#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>

#include "gateway/feeds/book_keys.hpp"
#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "service/out_of_memory.hpp"

namespace millpond::gateway::iex {
namespace {

template <class Settings>
constexpr settings::Key<Settings> channel_key() {
    return settings::KeyOf<Settings>::template integer<&Settings::iex_channel, 0,
                                                       std::numeric_limits<std::uint32_t>::max()>("iex_channel", "N",
                                                                                                  kChannelHelp);
}

constexpr settings::Key<DeepSettings> kDeepKeys[] = {
    depth_key<DeepSettings>(),
    channel_key<DeepSettings>(),
};

using K = settings::KeyOf<DeepPlusSettings>;
constexpr settings::Key<DeepPlusSettings> kDeepPlusKeys[] = {
    depth_key<DeepPlusSettings>(),
    K::boolean<&DeepPlusSettings::orders>("orders", kOrdersHelp),
    K::integer<&DeepPlusSettings::max_orders, 1, kMaxOrders>("max_orders", "N", kMaxOrdersHelp),
    channel_key<DeepPlusSettings>(),
};

class DeepFormat final : public FeedFormatOf<DeepSettings, feed::IexDeepDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "iex-deep"; }

protected:
    [[nodiscard]] std::span<const settings::Key<DeepSettings>> table() const override { return kDeepKeys; }
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
        return service::need_memory("books of levels", [&] {
            return std::make_unique<OpenFeed>(feed, FeedOptions{}, host.instruments, options, host.memory);
        });
    }
};

class DeepPlusFormat final : public FeedFormatOf<DeepPlusSettings, feed::IexDeepPlusDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "iex-deep-plus"; }

protected:
    [[nodiscard]] std::span<const settings::Key<DeepPlusSettings>> table() const override { return kDeepPlusKeys; }
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
        return service::need_memory(fmt::format("books for max_orders = {}", settings.max_orders), [&] {
            return std::make_unique<OpenFeed>(
                feed,
                FeedOptions{.table =
                                FeedTable{.name = "orders", .capacity = settings.max_orders, .bound = "max_orders"}},
                host.instruments, options, host.memory);
        });
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
