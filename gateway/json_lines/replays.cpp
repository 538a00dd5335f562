#include "gateway/json_lines/replays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/journal/segment_index.hpp>

#include "service/utc_text.hpp"

namespace millpond::gateway::json_lines {
namespace {

/// Interval at which the thread looks for events of the ring and the journal, which do not wake it.
constexpr int kEventsEveryMs = 1;
/// Interval at which it looks for all else, of which the sink wakes it.
constexpr int kIdleMs = 100;
constexpr int kForever = -1;

}  // namespace

Replays::~Replays() {
    thread_.request_stop();
    if (thread_.joinable()) wake();
}

void Replays::open(std::uint64_t epoch, const std::optional<feed::ChannelVenues>& venues) {
    epoch_ = epoch;
    from_ = {.journal = options_.journal,
             .ring = options_.ring,
             .epoch = epoch,
             .patience = options_.patience,
             .venues = venues};
    if (options_.journal.empty()) return;
    // Here and not with the first replay: a thread that the sink's starts would share the processor that it is pinned
    // to.
    wake_ = core::Descriptor{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

std::shared_ptr<Replay> Replays::start(const ReplayStart& start, const WantedSymbols& wanted) {
    if (options_.journal.empty()) {
        throw RequestError(fmt::format("'from': ring '{}' has no [[journal]]", options_.ring));
    }
    if (const auto now = core::utc_nanos(); start.utc_ns && *start.utc_ns > now) {
        throw RequestError(fmt::format("'from': {}Z is in the future; it is {}Z now",
                                       service::utc_text_in_nanos(*start.utc_ns), service::utc_text_in_nanos(now)));
    }
    const auto refuse = [this] {
        refused_.add();
        throw RequestError(
            fmt::format("'from': {} replays are in progress, of max_replays = {}", active_.read(), options_.max));
    };
    if (active_.read() >= options_.max) refuse();
    auto replay = std::make_shared<Replay>(start, wanted);
    if (!waiting_.try_push(std::shared_ptr{replay})) refuse();
    active_.add();
    started_.add();
    wake();
    return replay;
}

void Replays::end(Replay& replay) {
    replay.end();
    active_.set(active_.read() - 1);
    wake();
}

void Replays::note_failure(const Replay& replay, const ReplayPart& part) {
    failed_.add();
    options_.log(part.is_refused ? service::Severity::info : service::Severity::warning, options_.sink + ".replay",
                 fmt::format("{} sink '{}': a replay from {} failed: {}", options_.type, options_.sink,
                             json_of(replay.start()), part.failure));
}

void Replays::wake() const noexcept { static_cast<void>(eventfd_write(wake_.get(), 1)); }

bool Replays::pop_news() noexcept {
    const auto pushed = pushed_.load(std::memory_order_acquire);  // sync "part pushed": run
    return std::exchange(seen_, pushed) != pushed;
}

void Replays::run(const std::stop_token& stop) {
    core::name_this_thread(options_.sink + " replay");
    millpond::journal::SegmentIndex index{options_.journal, options_.ring};
    std::vector<std::unique_ptr<ReplayReader>> readers;
    while (!stop.stop_requested()) {
        for (std::shared_ptr<Replay> next; waiting_.try_pop(next);) {
            readers.push_back(std::make_unique<ReplayReader>(from_, index, std::move(next)));
        }
        std::erase_if(readers, [](const auto& reader) { return reader->replay().is_over(); });
        bool has_moved = false;
        bool has_ended = false;
        bool waits_for_events = false;
        std::erase_if(readers, [&](const auto& reader) {
            const auto outcome = reader->step(live_.load(std::memory_order_relaxed));
            has_moved = has_moved || outcome == ReplayReader::Outcome::moved;
            waits_for_events = waits_for_events || outcome == ReplayReader::Outcome::waits_for_events;
            has_ended = has_ended || outcome == ReplayReader::Outcome::over;
            return outcome == ReplayReader::Outcome::over;
        });
        if (has_moved || has_ended) pushed_.fetch_add(1, std::memory_order_release);  // sync "part pushed": pop_news
        if (has_moved) continue;
        pollfd woken{.fd = wake_.get(), .events = POLLIN, .revents = 0};
        eventfd_t count = 0;
        const auto timeout = readers.empty() ? kForever : waits_for_events ? kEventsEveryMs : kIdleMs;
        if (::poll(&woken, 1, timeout) > 0) static_cast<void>(eventfd_read(wake_.get(), &count));
    }
}

}  // namespace millpond::gateway::json_lines
