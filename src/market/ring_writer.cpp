#include <millpond/market/ring_writer.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/queue/broadcast_layout.hpp>

namespace millpond::market {
namespace {

void check(const RingWriterOptions& options) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument("ring writer: " + what); };
    if (!std::has_single_bit(options.capacity)) {
        refuse("capacity " + std::to_string(options.capacity) + " is not a power of two");
    }
    if (options.max_instruments == 0) refuse("max_instruments 0, the least is 1");
    if (options.max_channels == 0 || options.max_channels > kMaxChannels) {
        refuse("max_channels " + std::to_string(options.max_channels) + ", needs 1 to " + std::to_string(kMaxChannels));
    }
    if (options.depth > kMaxBoardDepth) {
        refuse("depth " + std::to_string(options.depth) + ", the largest is " + std::to_string(kMaxBoardDepth));
    }
    if (options.max_readers == 0) refuse("max_readers 0, the least is 1");
}

std::size_t object_bytes(const RingWriterOptions& options) {
    return board_offset(options.capacity) +
           board_bytes(options.max_instruments, options.max_channels, options.depth, options.best_venues);
}

std::uint64_t magic_of(memory::Region& region) {
    const auto& header = *reinterpret_cast<const queue::BroadcastHeader*>(region.data());
    return header.magic.load(std::memory_order_acquire);  // sync "object made": BroadcastWriter::create
}

/// Returns nullptr if the object is not, or not yet, a ring of any version.
queue::BroadcastHeader* ring_header(memory::Region& region) {
    if (region.size() < sizeof(queue::BroadcastHeader) || magic_of(region) != queue::kBroadcastMagic) return nullptr;
    return reinterpret_cast<queue::BroadcastHeader*>(region.data());
}

/// True for an object whose writer died while creating it: no reader has accepted it.
bool blank(memory::Region& region) { return region.size() >= sizeof(queue::BroadcastHeader) && magic_of(region) == 0; }

/// Names the process that holds the ring, for the error. The writer of a ring that is being created or was just
/// unlinked is unknown.
std::string writer_of(const std::string& object) {
    std::uint64_t pid = 0;
    try {
        auto region = memory::Region::open_shared(object);
        if (const auto* header = ring_header(region)) pid = header->writer_pid.load(std::memory_order_relaxed);
    } catch (const memory::RegionError&) {
        pid = 0;
    }
    return pid == 0 ? "another process" : "process " + std::to_string(pid);
}

RingError held(const std::string& object) {
    return {RingFault::held,
            "ring " + object + ": " + writer_of(object) + " writes it; stop that process or choose another name"};
}

RingError refusal(const memory::RegionError& error) {
    const auto code = error.code().value();
    const bool foreign = code == EPERM || code == EACCES || code == ELOOP || code == EINVAL;
    return {foreign ? RingFault::foreign : RingFault::memory, error.what()};
}

/// Marks the ring in `region` as superseded and removes its name. The caller holds the ring's lock object.
void supersede(memory::Region& region, const std::string& object) {
    auto* header = ring_header(region);
    if (header == nullptr && !blank(region)) {
        throw RingError(RingFault::foreign, object + " exists and is not a ring; remove it or choose another name");
    }
    if (header != nullptr &&
        header->state.load(std::memory_order_relaxed) == static_cast<std::uint64_t>(queue::BroadcastState::open)) {
        // sync "stream over": BasicBroadcastReader::state
        header->state.store(static_cast<std::uint64_t>(queue::BroadcastState::superseded), std::memory_order_release);
    }
    memory::Region::unlink_shared(object);
}

/// Calls visit(record) for each depth slot.
template <class Visitor>
void visit_levels(const QuoteBoard& board, Visitor&& visit) {
    if (board.max_depth() == 0) return;
    std::vector<BoardLevel> levels(std::size_t{2} * board.max_depth());
    for (std::uint32_t id = 0; id < board.instruments(); ++id) visit(board.levels(id, levels));
}

/// Largest ring number of a depth slot. Of a writer that died before it published a group, it is above the ring's.
std::uint64_t newest_levels(const QuoteBoard& board) {
    std::uint64_t newest = 0;
    visit_levels(board, [&](const auto& record) { newest = std::max(newest, record.number); });
    return newest;
}

/// Orders that came before the writer are unknown.
feed::Clear clear_of_new_writer(std::uint16_t channel) noexcept {
    feed::Clear clear;
    clear.channel = channel;
    clear.reason = feed::ClearReason::new_session;
    clear.flags = feed::kIncomplete;
    clear.receive_utc_ns = core::utc_nanos();
    clear.receive_ticks = core::ticks();
    return clear;
}

memory::OwnerLock acquire_lock(const RingWriterOptions& options) {
    check(options);
    try {
        return memory::OwnerLock::acquire(ring_object_name(options.name));
    } catch (const memory::RegionError& error) {
        if (error.code().value() == EBUSY) throw held(ring_object_name(options.name));
        throw refusal(error);
    }
}

}  // namespace

RingWriter::RingWriter(const RingWriterOptions& options)
    : name_(options.name),
      max_readers_(options.max_readers),
      lock_(acquire_lock(options)),
      opened_(open(options, lock_)),
      channels_without_levels_(options.max_channels),
      group_(options.depth == 0 ? nullptr : std::make_unique<OpenGroup>()) {
    removed_ = lock_.removed();
    removed_.insert(removed_.end(), opened_.region.removed().begin(), opened_.region.removed().end());
    opened_.ring.set_pid(static_cast<std::uint64_t>(getpid()));
    heartbeat(core::utc_nanos());
    if (opened_.resumed) void_old_quotes();
    remove_dead_readers(name_);
}

RingWriter::~RingWriter() {
    if (lock_ && lock_.is_ours()) close();
}

bool RingWriter::is_free(const std::string& name) {
    const auto object = ring_object_name(name);
    try {
        auto region = memory::Region::open_shared(object, memory::Access::writable, {.own = true});
        const bool is_ring = ring_header(region) != nullptr || blank(region);
        if (!is_ring || region.owned_elsewhere()) return false;
    } catch (const memory::RegionError& error) {
        if (error.code().value() != ENOENT) return false;
    }
    // Last, because root would lock the object of another user.
    try {
        return static_cast<bool>(memory::OwnerLock::acquire(object));
    } catch (const memory::RegionError&) {
        return false;
    }
}

RingWriter::Opened RingWriter::open(const RingWriterOptions& options, const memory::OwnerLock& lock) {
    const auto& object = lock.name();
    std::uint64_t epoch_before = 0;
    for (;;) {
        memory::Region region;
        try {
            region = memory::Region::shared(lock, object_bytes(options), options.memory);
        } catch (const memory::RegionError& error) {
            const auto code = error.code().value();
            if (code != EBUSY && code != EEXIST) throw refusal(error);
        }
        if (region.size() == 0) {  // an object of another size has the name, or a reader has locked it
            try {
                region = memory::Region::open_shared(object, memory::Access::writable, {.own = true});
            } catch (const memory::RegionError& error) {
                if (error.code().value() == ENOENT) continue;
                throw refusal(error);
            }
            if (region.owned_elsewhere()) throw held(object);
        } else if (auto resumed = resume(region, options)) {
            return std::move(*resumed);
        } else if (blank(region)) {
            // The board first: the ring's magic tells readers that everything is complete.
            auto bytes = region.bytes();
            auto board_memory = bytes.subspan(board_offset(options.capacity));
            auto board = QuoteBoardWriter::create(board_memory, options.max_instruments, options.max_channels,
                                                  options.depth, options.best_venues);
            const auto epoch = std::max(static_cast<std::uint64_t>(core::utc_nanos()), epoch_before + 1);
            auto ring = queue::BroadcastWriter::create(bytes, options.capacity, kMarketContent, epoch);
            auto view = QuoteBoard::open(board_memory);
            return {std::move(region), std::move(ring), board, *view, false};
        }
        if (const auto* header = ring_header(region)) epoch_before = header->epoch;
        supersede(region, object);
    }
}

/// Continues the ring of a dead writer; nullopt unless it has the requested layout.
std::optional<RingWriter::Opened> RingWriter::resume(memory::Region& region, const RingWriterOptions& options) {
    auto bytes = region.bytes();
    if (queue::inspect_broadcast(bytes, kMarketContent) != queue::BroadcastFault::none) return std::nullopt;
    const auto& header = *ring_header(region);
    if (header.capacity != options.capacity ||
        header.state.load(std::memory_order_relaxed) != static_cast<std::uint64_t>(queue::BroadcastState::open)) {
        return std::nullopt;
    }
    auto board_memory = bytes.subspan(board_offset(options.capacity));
    const auto view = QuoteBoard::open(board_memory);
    if (!view || view->max_instruments() != options.max_instruments || view->max_channels() != options.max_channels ||
        view->max_depth() != options.depth || view->has_best_venues() != options.best_venues) {
        return std::nullopt;
    }
    auto ring = queue::BroadcastWriter::resume(bytes, kMarketContent);
    if (newest_levels(*view) > ring.next() + OpenGroup::kCapacity) return std::nullopt;  // no writer leaves that
    return Opened{std::move(region), std::move(ring), QuoteBoardWriter::resume(board_memory), *view, true};
}

/// Publishes a Clear for every channel: what happened without a writer is unknown. Statuses stay, because they change
/// rarely and are sent once. The Clears also use up the numbers that a quote or levels half-way between board and ring
/// may hold, so that no record of the board is written twice under one number. O(instruments).
void RingWriter::void_old_quotes() {
    std::vector<bool> used(opened_.view.max_channels());
    const auto note = [&](const auto& record) {
        if (record.state == RecordState::being_written) {
            used.assign(used.size(), true);  // its channel is unknown
        } else if (record.state == RecordState::whole && record.event.channel < used.size()) {
            used[record.event.channel] = true;
        }
    };
    for (std::uint32_t id = 0; id < instruments(); ++id) {
        note(opened_.view.quote(id));
        note(opened_.view.status(id));
        if (opened_.view.has_best_venues()) note(opened_.view.best_venues(id));
    }
    visit_levels(opened_.view, note);
    for (std::uint32_t channel = 0; channel < used.size(); ++channel) {
        opened_.board.set_channel_depth(static_cast<std::uint16_t>(channel), {}, opened_.ring.next());
        opened_.board.set_venue(static_cast<std::uint16_t>(channel), {});
        note(opened_.view.channel_status(static_cast<std::uint16_t>(channel)));
        if (opened_.view.cleared(static_cast<std::uint16_t>(channel)) != 0) used[channel] = true;
    }
    const auto first = std::ranges::find(used, true);
    if (first == used.end()) return;
    const auto clear = clear_of_new_writer(static_cast<std::uint16_t>(first - used.begin()));
    for (const auto taken = newest_levels(opened_.view); newest() < taken;) publish(clear);
    for (std::uint32_t channel = 0; channel < used.size(); ++channel) {
        if (used[channel]) publish(clear_of_new_writer(static_cast<std::uint16_t>(channel)));
    }
}

bool RingWriter::name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol,
                      unsigned decimals) noexcept {
    if (id < max_instruments()) {
        const auto present = instrument(id);
        if (!present) {
            opened_.board.name(id, {venue, symbol, decimals});
            return true;
        }
        if (present->venue == venue && present->symbol == symbol) return true;
    }
    refused_names_.add();
    return false;
}

bool RingWriter::set_depth(std::uint16_t channel, ChannelDepth depth) noexcept {
    if (channel >= opened_.board.max_channels()) return false;
    if (depth.depth > kMaxBoardDepth && depth.depth != feed::kFullDepth) return false;
    // Readers of a ring that is continued have books of the former depth, which a Clear ends.
    const bool clears = resumed() && opened_.view.channel_depth(channel) != depth;
    opened_.board.set_channel_depth(channel, depth, clears ? opened_.ring.next() : opened_.view.depth_since(channel));
    if (opened_.board.has_levels(channel)) channels_without_levels_ = 0;
    if (clears) publish(clear_of_new_writer(channel));
    return true;
}

bool RingWriter::set_venue(std::uint16_t channel, const feed::Venue& venue) noexcept {
    if (channel >= opened_.board.max_channels()) return false;
    opened_.board.set_venue(channel, venue);
    return true;
}

std::optional<Instrument> RingWriter::instrument(feed::InstrumentId id) const noexcept {
    return opened_.view.instrument(id);
}

bool RingWriter::close() noexcept {
    if (std::exchange(closed_, true)) return true;
    publish_held();
    const bool ours = opened_.region.name_is_current();
    opened_.ring.mark(queue::BroadcastState::closed);
    try {
        if (ours) {
            remove_dead_readers(name_);
            memory::Region::unlink_shared(ring_object_name(name_));
        }
        lock_ = memory::OwnerLock();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace millpond::market
