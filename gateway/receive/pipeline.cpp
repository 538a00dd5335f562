#include "gateway/receive/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <grp.h>
#include <sys/epoll.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/pinning.hpp>
#include <millpond/core/start_thread.hpp>
#include <millpond/core/thread_name.hpp>

#include "service/out_of_memory.hpp"
#include "service/time_zone.hpp"

namespace millpond::gateway {
namespace {

constexpr std::int64_t kBeatNs = 100'000'000;
constexpr int kBeatMs = 100;
/// Poll timeout while datagrams wait behind a gap.
constexpr int kHoldMs = 1;
/// Number of rounds between two readings of the time while datagrams keep arriving.
constexpr std::uint32_t kBusyRounds = 256;

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

/// The sizes of the ring and its board.
market::RingWriterOptions size_options(const RingConfig& ring, const Config& config) {
    constexpr std::uint32_t kDepthOfFull = 10;
    std::uint32_t channels = 1;
    market::RingWriterOptions options;
    for (const auto& feed : config.feeds) {
        if (feed.ring != ring.name) continue;
        channels = std::max(channels, *feed.channel + 1U);
        const auto depth = feed.format.depth().depth;
        options.depth = std::max(options.depth, depth == feed::kFullDepth ? kDepthOfFull : depth);
    }
    for (const auto& composite : config.composites) {
        if (composite.ring != ring.name) continue;
        channels = std::max(channels, *composite.channel + 1U);
        options.best_venues = true;
    }
    options.capacity = ring.capacity;
    options.max_instruments = static_cast<std::uint32_t>(ring.max_instruments);
    options.max_channels = channels;
    return options;
}

market::RingWriterOptions writer_options(const RingConfig& ring, const Config& config) {
    auto options = size_options(ring, config);
    options.name = ring.name;
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

}  // namespace

std::size_t ring_bytes(const RingConfig& ring, const Config& config) {
    const auto sizes = size_options(ring, config);
    return market::board_offset(sizes.capacity) +
           market::board_bytes(sizes.max_instruments, sizes.max_channels, sizes.depth, sizes.best_venues);
}

Pipeline::Pipeline(const RingConfig& ring, const Config& config, service::LogFunction log)
    : config_(ring),
      writer_(open_ring(ring, config)),
      instruments_(service::need_memory(fmt::format("ring '{}': max_instruments = {}", ring.name, ring.max_instruments),
                                        [&] { return feed::InstrumentTable{ring.max_instruments}; })),
      publisher_(writer_, instruments_, notices_),
      tables_(
          {.huge_pages = ring.huge_pages == Wanted::none ? memory::HugePages::none : memory::HugePages::transparent}) {
    for (const auto& removed : writer_.removed()) {
        log(service::Severity::warning, fmt::format("{}.removed {}", ring.name, removed),
            fmt::format("ring '{}': removed {}", ring.name, removed));
    }
    adopt_names();
    for (const auto& feed : config.feeds) {
        if (feed.ring == ring.name) open(feed, log);
    }
    for (const auto& composite : config.composites) {
        if (composite.ring == ring.name) writer_.set_depth(*composite.channel, {.depth = composite.depth});
    }
    if (Composites::has_some(ring.name, config)) {
        composites_ = std::make_unique<Composites>(ring.name, config, instruments_, writer_.board(), &tables_);
        publisher_.set_composites(composites_.get());
    }
    if (!config.capture.empty()) open_capture(config, std::move(log));
    set_midnights(core::utc_nanos());
    watch_sockets();
    beat();
}

Pipeline::~Pipeline() { stop(); }

void Pipeline::open_capture(const Config& config, service::LogFunction log) {
    std::vector<net::SocketAddress> feeds;
    for (const auto& feed : feeds_) {
        feed->set_captured_as(static_cast<std::uint32_t>(feeds.size()));
        feed->for_each_line([&](std::string_view, const Line& receiver) { feeds.push_back(receiver.report().local); });
    }
    service::need_memory(fmt::format("capture_buffer = {}", config.capture_buffer), [&] {
        capture_ = std::make_unique<Capture>(Capture::Options{.folder = config.capture,
                                                              .name = config_.name,
                                                              .buffer_bytes = config.capture_buffer,
                                                              .rotate_bytes = config.capture_rotate_bytes,
                                                              .keep = config.capture_keep,
                                                              .file_mode = config.file_mode},
                                             std::move(feeds), std::move(log));
    });
}

void Pipeline::adopt_names() {
    for (feed::InstrumentId id = 0; id < writer_.instruments(); ++id) {
        const auto instrument = writer_.instrument(id);
        if (!instrument ||
            instruments_.find_or_add(instrument->venue, instrument->symbol, instrument->decimals) != id) {
            throw std::runtime_error(
                fmt::format("ring '{}': the names of an earlier run are damaged; remove the ring", config_.name));
        }
    }
}

void Pipeline::open(const FeedConfig& feed, const service::LogFunction& log) try {
    const auto depth = feed.format.depth();
    if (!writer_.set_depth(*feed.channel, depth))
        throw std::runtime_error(fmt::format("depth {} is not possible on ring '{}'", depth.depth, config_.name));
    writer_.set_venue(*feed.channel, feed::Venue{venue_of(feed)});
    feeds_.push_back(feed.format.open(feed, {.instruments = instruments_, .log = log, .memory = &tables_}));
} catch (const std::bad_alloc&) {
    throw service::OutOfMemory(fmt::format("feed '{}': out of memory", feed.name));
} catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("feed '{}': {}", feed.name, error.what()));
}

void Pipeline::watch_sockets() {
    epoll_ = core::Descriptor{epoll_create1(EPOLL_CLOEXEC)};
    if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    for_each_feed([this](const Feed& feed) {
        feed.for_each_fd([this](int fd) {
            epoll_event event{};
            event.events = EPOLLIN;
            if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
                throw std::system_error(errno, std::generic_category(), "epoll_ctl");
            }
        });
    });
}

void Pipeline::set_midnights(std::int64_t now_utc_ns) {
    for (const auto& feed : feeds_)
        feed->set_midnight(service::midnight_utc_ns(feed->config().timezone, feed->config().date, now_utc_ns));
}

void Pipeline::request_books() {
    for (const auto& feed : feeds_) feed->request_books();
}

void Pipeline::start() {
    const auto prepare = [this] {
        core::name_this_thread("rx " + config_.name);
        if (config_.pin) core::pin_this_thread(static_cast<int>(*config_.pin));
        if (config_.realtime != 0) core::set_realtime(static_cast<int>(config_.realtime));
    };
    core::start_thread(thread_, prepare, [this] { run(); });
}

void Pipeline::stop() {
    stopping_.store(true, std::memory_order_relaxed);  // the join below orders everything else
    if (thread_.joinable()) thread_.join();
    if (!capture_) return;
    for (const auto& feed : feeds_) feed->finish(*capture_);
}

std::size_t Pipeline::receive() {
    std::size_t received = 0;
    for (const auto& feed : feeds_) received += feed->poll(publisher_, notices_, capture_.get());
    return received + publisher_.renew_composites();
}

bool Pipeline::holding() const {
    return std::ranges::any_of(feeds_, [](const auto& feed) { return feed->holding(); });
}

void Pipeline::beat() {
    publisher_.beat();
    for (const auto& feed : feeds_) feed->beat(publisher_);
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
            epoll_wait(epoll_.get(), events.data(), 1, holding() ? kHoldMs : kBeatMs);
        }
        if (publisher_.clock().nanos(core::ticks() - publisher_.clock().set_at()) >= kBeatNs) beat();
    }
}

}  // namespace millpond::gateway
