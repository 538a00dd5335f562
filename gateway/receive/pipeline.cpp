#include "gateway/receive/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <grp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/pinning.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/feed/product_names.hpp>

#include "gateway/receive/midnight.hpp"
#include "service/regular_file.hpp"
#include "service/start_thread.hpp"

namespace millpond::gateway {
namespace {

constexpr std::int64_t kBeatNs = 100'000'000;
constexpr int kBeatMs = 100;
/// While datagrams wait behind a hole.
constexpr int kHoldMs = 1;
/// While datagrams keep coming, the time is looked at once in so many rounds.
constexpr std::uint32_t kBusyRounds = 256;

std::uint64_t ticks_of(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(static_cast<double>(time.count()) / core::TickRate{}.nanos_per_tick());
}

net::Want want_of(Wanted wanted) {
    switch (wanted) {
        case Wanted::none: return net::Want::no;
        case Wanted::prefer: return net::Want::prefer;
        case Wanted::require: return net::Want::require;
    }
    return net::Want::no;
}

memory::HugePages huge_pages_of(Wanted wanted) {
    switch (wanted) {
        case Wanted::none: return memory::HugePages::none;
        case Wanted::prefer: return memory::HugePages::prefer;
        case Wanted::require: return memory::HugePages::require;
    }
    return memory::HugePages::none;
}

std::uint32_t number_of_group(const std::string& name) {
    std::vector<char> text(16'384);
    group found{};
    group* result = nullptr;
    getgrnam_r(name.c_str(), &found, text.data(), text.size(), &result);
    if (result == nullptr)
        throw std::runtime_error(fmt::format("group '{}' does not exist; run: groupadd {}", name, name));
    return found.gr_gid;
}

market::RingWriterOptions writer_options(const RingConfig& ring, const Config& config) {
    std::uint32_t channels = 1;
    for (const auto& feed : config.feeds) {
        if (feed.ring == ring.name) channels = std::max(channels, *feed.channel + 1U);
    }
    market::RingWriterOptions options;
    options.name = ring.name;
    options.capacity = ring.capacity;
    options.max_instruments = static_cast<std::uint32_t>(ring.max_instruments);
    options.max_channels = channels;
    options.memory.huge_pages = huge_pages_of(ring.huge_pages);
    options.memory.lock = ring.lock;
    options.memory.mode = ring.mode;
    if (!ring.group.empty()) options.memory.group = number_of_group(ring.group);
    return options;
}

market::RingWriter open_ring(const RingConfig& ring, const Config& config) try {
    return market::RingWriter{writer_options(ring, config)};
} catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("ring '{}': {}", ring.name, error.what()));
}

feed::ProductNames names_of(const FeedConfig& config) {
    if (config.symbols.empty()) return {};
    const auto text = [&] {
        try {
            return service::read_regular_file(config.symbols).text;
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(fmt::format("cannot read '{}': {}", config.symbols, error.what()));
        }
    }();
    try {
        return feed::ProductNames::parse(text);
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("'{}': {}", config.symbols, error.what()));
    }
}

feed::Venue venue_or(const FeedConfig& config, const feed::Venue& otherwise) {
    return config.venue.empty() ? otherwise : feed::Venue{config.venue};
}

/// Every book needs a chunk of levels a side; busy ones need more.
feed::ItchDecoder::Options itch_options(const FeedConfig& feed, const RingConfig& ring) {
    constexpr std::uint64_t kMostBooks = 65'536;
    constexpr std::size_t kMoreChunks = 8'192;
    feed::ItchDecoder::Options options;
    options.venue = venue_or(feed, options.venue);
    options.book.books = std::min(ring.max_instruments, kMostBooks);
    options.book.orders = feed.max_orders;
    options.book.level_chunks = 2 * options.book.books + kMoreChunks;
    return options;
}

}  // namespace

net::UdpReceiver::Options receiver_options(const FeedConfig& config) {
    return {.local = config.listen,
            .source = config.source,
            .interface = config.interface,
            .receive_buffer = config.receive_buffer,
            .gro = config.gro ? net::Want::prefer : net::Want::no,
            .nic_time = want_of(config.nic_time),
            .path = *config.receive,
            .path_want = want_of(*config.receive_want),
            .zero_copy = want_of(config.zero_copy),
            .checksum = config.checksum,
            .vlan = static_cast<std::uint16_t>(config.vlan)};
}

net::UdpReceiver::Options second_receiver_options(const FeedConfig& config) {
    auto options = receiver_options(config);
    options.local = config.line_b;
    options.source = config.source_b;
    options.interface = config.interface_b;
    return options;
}

std::uint64_t reorder_ticks(const FeedConfig& config) { return ticks_of(std::chrono::microseconds{config.reorder_us}); }

feed::Rerequester::Options rerequester_options(const FeedConfig& config) {
    return {.most_messages = static_cast<std::uint16_t>(config.rerequest_most),
            .first_wait = ticks_of(std::chrono::milliseconds{config.rerequest_ms}),
            .tries = static_cast<std::uint32_t>(config.rerequest_tries)};
}

Pipeline::Pipeline(const RingConfig& ring, const Config& config, service::Say say)
    : config_(ring),
      writer_(open_ring(ring, config)),
      instruments_(ring.max_instruments),
      publisher_(writer_, instruments_, notices_) {
    take_over_names();
    for (const auto& feed : config.feeds) {
        if (feed.ring == ring.name) open(feed, say);
    }
    if (!config.capture.empty()) open_capture(config, std::move(say));
    set_midnights(core::utc_nanos());
    watch_sockets();
    beat();
}

Pipeline::~Pipeline() {
    stop();
    if (epoll_ >= 0) close(epoll_);
}

void Pipeline::open_capture(const Config& config, service::Say say) {
    std::vector<net::SocketAddress> feeds;
    auto number = [&](auto& line) {
        line.set_captured_as(static_cast<std::uint32_t>(feeds.size()));
        line.for_each_line(
            [&](std::string_view, const net::UdpReceiver& receiver) { feeds.push_back(receiver.report().local); });
    };
    visit_lines(lines_, number);
    capture_ = std::make_unique<Capture>(Capture::Options{.folder = config.capture,
                                                          .name = config_.name,
                                                          .buffer_bytes = config.capture_buffer,
                                                          .rotate_bytes = config.capture_rotate_bytes,
                                                          .keep = config.capture_keep,
                                                          .file_mode = config.file_mode},
                                         std::move(feeds), std::move(say));
}

void Pipeline::take_over_names() {
    for (feed::InstrumentId id = 0; id < writer_.instruments(); ++id) {
        const auto instrument = writer_.instrument(id);
        if (!instrument || instruments_.find_or_add(instrument->venue, instrument->symbol) != id) {
            throw std::runtime_error(
                fmt::format("ring '{}': the names of an earlier run are damaged; remove it", config_.name));
        }
    }
}

void Pipeline::open(const FeedConfig& feed, const service::Say& say) try {
    switch (feed.format) {
        case FeedFormat::bbo28:
            std::get<Lines<feed::Bbo28Decoder>>(lines_).emplace_back(
                feed, instruments_, feed::Bbo28Decoder::Options{.venue = venue_or(feed, {})});
            return;
        case FeedFormat::quotes:
            std::get<Lines<feed::QuotesDecoder>>(lines_).emplace_back(feed, instruments_,
                                                                      feed::QuotesDecoder::Options{});
            return;
        case FeedFormat::itch: {
            const auto options = itch_options(feed, config_);
            auto& line = std::get<Lines<feed::ItchDecoder>>(lines_).emplace_back(feed, instruments_, options);
            if (feed.rebuild) line.rebuild_with({.decoder = options, .instruments = instruments_.capacity()}, say);
            return;
        }
        case FeedFormat::miax_tom:
            std::get<Lines<feed::MiaxTomDecoder>>(lines_).emplace_back(
                feed, instruments_,
                feed::MiaxTomDecoder::Options{.venue = venue_or(feed, feed::MiaxTomDecoder::Options{}.venue),
                                              .names = names_of(feed)});
            return;
    }
} catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("feed '{}': {}", feed.name, error.what()));
}

void Pipeline::watch_sockets() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    for_each_feed([this](const auto& line) {
        line.for_each_fd([this](int fd) {
            epoll_event event{};
            event.events = EPOLLIN;
            if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
                throw std::system_error(errno, std::generic_category(), "epoll_ctl");
            }
        });
    });
}

void Pipeline::set_midnights(std::int64_t now_utc_ns) {
    auto set = [&](auto& line) {
        line.set_midnight(midnight_utc_ns(line.config().timezone, line.config().date, now_utc_ns));
    };
    visit_lines(lines_, set);
}

void Pipeline::start() {
    const auto prepare = [this] {
        core::name_this_thread("rx " + config_.name);
        if (config_.pin) core::pin_this_thread(static_cast<int>(*config_.pin));
        if (config_.realtime.value_or(0) != 0) core::set_realtime(static_cast<int>(*config_.realtime));
    };
    service::start_thread(thread_, prepare, [this] { run(); });
}

void Pipeline::stop() {
    stopping_.store(true, std::memory_order_relaxed);  // the join below orders everything else
    if (thread_.joinable()) thread_.join();
    auto finish = [&](auto& line) {
        if (capture_) line.finish(*capture_);
    };
    visit_lines(lines_, finish);
}

std::size_t Pipeline::receive() {
    std::size_t received = 0;
    auto poll = [&](auto& line) { received += line.poll(publisher_, notices_, capture_.get()); };
    visit_lines(lines_, poll);
    return received;
}

bool Pipeline::holding() const {
    bool any = false;
    for_each_feed([&](const auto& line) { any = any || line.holding(); });
    return any;
}

void Pipeline::beat() {
    publisher_.beat();
    auto beat_line = [this](auto& line) { line.beat(publisher_); };
    visit_lines(lines_, beat_line);
}

void Pipeline::run() {
    core::Idle idle{config_.poll.value_or(core::Poll::adaptive)};
    std::uint32_t busy_rounds = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (receive() != 0) {
            idle.worked();
            if (++busy_rounds % kBusyRounds != 0) continue;
        } else if (idle.pause()) {
            std::array<epoll_event, 1> events;
            epoll_wait(epoll_, events.data(), 1, holding() ? kHoldMs : kBeatMs);
        }
        if (publisher_.clock().nanos(core::ticks() - publisher_.clock().set_at()) >= kBeatNs) beat();
    }
}

}  // namespace millpond::gateway
