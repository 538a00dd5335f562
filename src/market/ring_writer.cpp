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
    if (options.max_channels == 0 || options.max_channels > kMostChannels) {
        refuse("max_channels " + std::to_string(options.max_channels) + ", needs 1 to " +
               std::to_string(kMostChannels));
    }
    if (options.max_readers == 0) refuse("max_readers 0, the least is 1");
}

std::size_t object_bytes(const RingWriterOptions& options) {
    return board_offset(options.capacity) + board_bytes(options.max_instruments, options.max_channels);
}

std::uint64_t magic_of(memory::Region& region) {
    const auto& header = *reinterpret_cast<const queue::BroadcastHeader*>(region.data());
    return header.magic.load(std::memory_order_acquire);  // sync "object made": BroadcastWriter::create
}

/// Null if the object is not, or not yet, a ring of any version.
queue::BroadcastHeader* ring_header(memory::Region& region) {
    if (region.size() < sizeof(queue::BroadcastHeader) || magic_of(region) != queue::kBroadcastMagic) return nullptr;
    return reinterpret_cast<queue::BroadcastHeader*>(region.data());
}

/// True for an object whose writer died while creating it: no reader has accepted it.
bool blank(memory::Region& region) { return region.size() >= sizeof(queue::BroadcastHeader) && magic_of(region) == 0; }

/// The process that has the ring, for the refusal. The writer of one that is being created or was just unlinked is
/// not named.
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

/// Reports to readers of the ring in `region` that another one takes its name. The caller holds the ring's lock object.
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

memory::Region take_lock(const RingWriterOptions& options) {
    check(options);
    try {
        return memory::Region::shared(lock_object_name(options.name), 1, {.exclusive = true, .mode = 0600});
    } catch (const memory::RegionError& error) {
        if (error.code().value() == EBUSY) throw held(ring_object_name(options.name));
        throw refusal(error);
    }
}

}  // namespace

RingWriter::RingWriter(const RingWriterOptions& options)
    : name_(options.name), max_readers_(options.max_readers), lock_(std::in_place, options), taken_(take(options)) {
    taken_.ring.set_pid(static_cast<std::uint64_t>(getpid()));
    heartbeat(core::utc_nanos());
    if (taken_.resumed) void_old_quotes();
    remove_dead_readers(name_);
}

RingWriter::~RingWriter() {
    if (lock_ && lock_->is_ours()) close();
}

/// A lock on the ring is not enough: while no writer lives, any user that may read the ring can take a read lock on it.
RingWriter::Lock::Lock(const RingWriterOptions& options) : region_(take_lock(options)), pid_(getpid()) {}

RingWriter::Lock::~Lock() {
    if (is_ours() && region_.name_is_current()) unlink(region_.path().c_str());
}

bool RingWriter::Lock::is_ours() const noexcept { return pid_ == getpid(); }

RingWriter::Taken RingWriter::take(const RingWriterOptions& options) {
    const auto object = ring_object_name(options.name);
    auto memory_options = options.memory;
    memory_options.exclusive = true;
    std::uint64_t epoch_before = 0;
    for (;;) {
        memory::Region region;
        try {
            region = memory::Region::shared(object, object_bytes(options), memory_options);
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
        } else if (auto taken = go_on(region, options)) {
            return std::move(*taken);
        } else if (blank(region)) {
            // The board first: the ring's magic tells readers that everything is complete.
            auto bytes = region.bytes();
            auto board_memory = bytes.subspan(board_offset(options.capacity));
            auto board = QuoteBoardWriter::create(board_memory, options.max_instruments, options.max_channels);
            const auto epoch = std::max(static_cast<std::uint64_t>(core::utc_nanos()), epoch_before + 1);
            auto ring = queue::BroadcastWriter::create(bytes, options.capacity, kMarketContent, epoch);
            auto view = QuoteBoard::open(board_memory);
            return {std::move(region), std::move(ring), board, *view, false};
        }
        if (const auto* header = ring_header(region)) epoch_before = header->epoch;
        supersede(region, object);
    }
}

/// The ring of a dead writer, if it has the requested layout.
std::optional<RingWriter::Taken> RingWriter::go_on(memory::Region& region, const RingWriterOptions& options) {
    auto bytes = region.bytes();
    if (queue::inspect_broadcast(bytes, kMarketContent) != queue::BroadcastFault::none) return std::nullopt;
    const auto& header = *ring_header(region);
    if (header.capacity != options.capacity ||
        header.state.load(std::memory_order_relaxed) != static_cast<std::uint64_t>(queue::BroadcastState::open)) {
        return std::nullopt;
    }
    auto board_memory = bytes.subspan(board_offset(options.capacity));
    const auto view = QuoteBoard::open(board_memory);
    if (!view || view->max_instruments() != options.max_instruments || view->max_channels() != options.max_channels) {
        return std::nullopt;
    }
    return Taken{std::move(region), queue::BroadcastWriter::resume(bytes, kMarketContent),
                 QuoteBoardWriter::resume(board_memory), *view, true};
}

/// Events without a writer are unknown. Statuses stay: they change rarely and are sent once.
/// The first Clear also takes the number that a quote half-way between board and ring may hold there, so that no record
/// of the board is ever written twice under one number. O(instruments).
void RingWriter::void_old_quotes() {
    std::vector<bool> used(taken_.view.max_channels());
    const auto note = [&](const auto& record) {
        if (record.state == RecordState::being_written) {
            used.assign(used.size(), true);  // its channel is unknown
        } else if (record.state == RecordState::whole && record.event.channel < used.size()) {
            used[record.event.channel] = true;
        }
    };
    for (std::uint32_t id = 0; id < instruments(); ++id) {
        note(taken_.view.quote(id));
        note(taken_.view.status(id));
    }
    for (std::uint32_t channel = 0; channel < used.size(); ++channel) {
        note(taken_.view.channel_status(static_cast<std::uint16_t>(channel)));
        if (taken_.view.cleared(static_cast<std::uint16_t>(channel)) != 0) used[channel] = true;
    }
    feed::Clear clear;
    clear.reason = feed::ClearReason::new_session;
    clear.receive_utc_ns = core::utc_nanos();
    clear.receive_ticks = core::ticks();
    for (std::uint32_t channel = 0; channel < used.size(); ++channel) {
        if (!used[channel]) continue;
        clear.channel = static_cast<std::uint16_t>(channel);
        publish(clear);
    }
}

bool RingWriter::name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) noexcept {
    if (id < max_instruments()) {
        const auto present = instrument(id);
        if (!present) {
            taken_.board.name(id, {venue, symbol});
            return true;
        }
        if (present->venue == venue && present->symbol == symbol) return true;
    }
    refused_names_.add();
    return false;
}

std::optional<Instrument> RingWriter::instrument(feed::InstrumentId id) const noexcept {
    return taken_.view.instrument(id);
}

bool RingWriter::close() noexcept {
    if (std::exchange(closed_, true)) return true;
    const bool ours = taken_.region.name_is_current();
    taken_.ring.mark(queue::BroadcastState::closed);
    try {
        if (ours) {
            remove_dead_readers(name_);
            memory::Region::unlink_shared(ring_object_name(name_));
        }
        lock_.reset();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace millpond::market
