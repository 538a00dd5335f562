#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <millpond/feed/itch_decoder.hpp>

#include "gateway/feeds/format_of.hpp"
#include "gateway/feeds/itch/book_rebuild.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "service/out_of_memory.hpp"

namespace millpond::gateway::itch {
namespace {

using K = settings::KeyOf<Settings>;

constexpr std::uint64_t kMostOrders = 1ULL << 28;

constexpr settings::Key<Settings> kKeys[] = {
    K::integer<&Settings::max_orders, 1, kMostOrders>("max_orders", "N",
                                                      "itch: maximum number of live orders in the books."),
    K::endpoint<&Settings::rerequest>("rerequest", "itch: MoldUDP64 server to request missing messages from."),
    K::integer<&Settings::rerequest_ms, 1, 60'000>(
        "rerequest_ms", "N", "itch: milliseconds until a request is repeated; doubled each time."),
    K::integer<&Settings::rerequest_tries, 1, 20>("rerequest_tries", "N",
                                                  "itch: requests after which a gap is given up."),
    K::integer<&Settings::rerequest_most, 1, 65'534>("rerequest_most", "N",
                                                     "itch: maximum number of messages in one request."),
    K::boolean<&Settings::rerequest_start>("rerequest_start",
                                           "itch: also request the session's messages before the start."),
    K::boolean<&Settings::rebuild>("rebuild", "itch: rebuild incomplete books from the rerequest server."),
    K::text<&Settings::rebuild_from>(
        "rebuild_from", "PATH",
        "itch: rebuild incomplete books from a capture, a folder of captures or a file of messages first."),
    K::bytes<&Settings::rebuild_buffer>("rebuild_buffer", "itch: memory for messages that arrive during a rebuild."),
    K::integer<&Settings::rebuild_seconds, 1, 86'400>("rebuild_seconds", "N",
                                                      "itch: timeout of a rebuild, in seconds."),
};

/// Every book needs a chunk of levels a side; busy ones need more.
feed::ItchDecoder::Options decoder_options(const Settings& settings, std::uint64_t instruments) {
    constexpr std::uint64_t kMostBooks = 65'536;
    constexpr std::size_t kMoreChunks = 8'192;
    feed::ItchDecoder::Options options;
    options.order_books.books = std::min(instruments, kMostBooks);
    options.order_books.orders = settings.max_orders;
    options.order_books.level_chunks = 2 * options.order_books.books + kMoreChunks;
    return options;
}

class Format final : public FeedFormatOf<Settings, feed::ItchDecoder> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "itch"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }

    void complete(Settings& settings, FeedConfig& feed, const std::string& user) const override {
        const auto& server = settings.rerequest;
        if (!server.empty() && (server.port() == 0 || server.is_multicast())) {
            throw settings::ConfigError(
                fmt::format("{}: rerequest '{}' is not the address of a server", user, server.to_string()));
        }
        if (settings.rebuild && settings.rebuild_from.empty() && server.empty())
            throw settings::ConfigError(user + ": rebuild: needs rerequest or rebuild_from");
        settings.rebuild = settings.rebuild || !settings.rebuild_from.empty();
        if (feed.reorder_datagrams == 0 && !server.empty()) feed.reorder_datagrams = FeedConfig::kHeldForServer;
    }
    void check_unused(const Settings& settings, const std::string& user) const override {
        if (!settings.rerequest.empty())
            throw settings::ConfigError(user + ": rerequest: only for itch, whose MoldUDP64 has re-request servers");
        if (settings.rebuild || !settings.rebuild_from.empty())
            throw settings::ConfigError(user + ": rebuild: only itch has books");
    }

    [[nodiscard]] std::unique_ptr<Feed> open(const FeedConfig& feed, const Settings& settings,
                                             const FeedHost& host) const override {
        auto options = decoder_options(settings, host.instruments.capacity());
        set_venue(options, feed);
        auto line = service::need_memory(fmt::format("books for max_orders = {}", settings.max_orders), [&] {
            return std::make_unique<FeedLine<feed::ItchDecoder, BookRebuild>>(
                feed,
                LineOptions{
                    .rerequest = static_cast<const RerequestSettings&>(settings),
                    .table = FeedTable{.name = "orders", .capacity = settings.max_orders, .bound = "max_orders"}},
                host.instruments, options, host.memory);
        });
        if (settings.rebuild) line->rebuild_with(rebuild_of(feed, settings, host, options, *line));
        return line;
    }

private:
    static std::unique_ptr<BookRebuild> rebuild_of(const FeedConfig& feed, const Settings& settings,
                                                   const FeedHost& host, const feed::ItchDecoder::Options& decoder,
                                                   const Feed& line) {
        constexpr std::int64_t kSecondNs = 1'000'000'000;
        BookRebuild::Options options{.feed = feed.name,
                                     .history = {.path = settings.rebuild_from, .ports = {}},
                                     .server = settings.rerequest,
                                     .books = {.decoder = decoder, .instruments = host.instruments.capacity()},
                                     .buffer_bytes = settings.rebuild_buffer,
                                     .longest_ns = static_cast<std::int64_t>(settings.rebuild_seconds) * kSecondNs,
                                     .asking = rerequester_options(settings)};
        line.for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
            options.history.ports.push_back(receiver.report().local.port());
        });
        return service::need_memory(fmt::format("rebuild_buffer = {} and books for max_orders = {}",
                                                settings.rebuild_buffer, settings.max_orders),
                                    [&] { return std::make_unique<BookRebuild>(options, host.say, host.memory); });
    }
};

}  // namespace

const FeedFormat& Settings::format() noexcept {
    static const Format format;
    return format;
}

}  // namespace millpond::gateway::itch
