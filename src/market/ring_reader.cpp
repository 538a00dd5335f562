#include <millpond/market/ring_reader.hpp>

#include <cerrno>

#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/queue/broadcast_layout.hpp>

namespace millpond::market {
namespace {

constexpr const char* kOneVersion = ": run its writer and its readers with the same version of millpond";

RingError refusal(const std::string& object, queue::BroadcastFault fault, std::span<const std::byte> bytes) {
    const auto text = "ring " + object + ": ";
    switch (fault) {
        case queue::BroadcastFault::other_content:
            return {RingFault::other_layout,
                    text + "its events have version " +
                        std::to_string(reinterpret_cast<const queue::BroadcastHeader*>(bytes.data())->content) +
                        "; this build reads " + std::to_string(kMarketContent) + kOneVersion};
        case queue::BroadcastFault::not_ready: return {RingFault::not_ready, text + "is being created; try again"};
        case queue::BroadcastFault::foreign: return {RingFault::foreign, text + "is not a ring"};
        default: return {RingFault::other_layout, text + describe(fault) + "; this build reads another one"};
    }
}

RingError refusal(const std::string& object, std::span<const std::byte> board) {
    const auto version = QuoteBoard::version_in(board);
    if (version != kBoardLayoutVersion) {
        return {RingFault::other_layout, "ring " + object + ": its board has layout version " +
                                             std::to_string(version) + "; this build reads " +
                                             std::to_string(kBoardLayoutVersion) + kOneVersion};
    }
    const auto& header = *reinterpret_cast<const BoardHeader*>(board.data());
    return {RingFault::other_layout,
            "ring " + object + ": its board of " + std::to_string(header.slots) + " slots of " +
                std::to_string(header.slot_bytes) + " bytes, " + std::to_string(header.channels) +
                " channels and depth " + std::to_string(header.depth) + " of " +
                std::to_string(header.depth_slot_bytes) + " bytes is none of this version, or does not fit in " +
                std::to_string(board.size()) + " bytes"};
}

RingError refusal(const std::string& object, const memory::RegionError& error) {
    const auto text = "ring " + object + ": ";
    switch (error.code().value()) {
        case ENOENT: return {RingFault::not_found, text + "not found; is its writer running?"};
        case EAGAIN: return {RingFault::not_ready, text + "is being created; try again"};
        case EPERM:
        case ELOOP: return {RingFault::foreign, error.what()};
        default: return {RingFault::memory, text + error.what()};
    }
}

}  // namespace

RingReader::Opened RingReader::open(const RingReaderOptions& options) {
    const auto object = ring_object_name(options.name);
    try {
        auto region =
            memory::Region::open_shared(object, memory::Access::read_only, {.prefault = true, .own = options.own});
        const auto bytes = std::as_const(region).bytes();
        const auto fault = queue::inspect_broadcast(bytes, kMarketContent);
        if (fault != queue::BroadcastFault::none) throw refusal(object, fault, bytes);
        const auto& header = *reinterpret_cast<const queue::BroadcastHeader*>(bytes.data());
        // The board offset is within the bytes: inspect_broadcast has compared the capacity with the size.
        const auto board_memory = bytes.subspan(board_offset(header.capacity));
        auto board = QuoteBoard::open(board_memory);
        if (!board) throw refusal(object, board_memory);
        return {std::move(region), *board};
    } catch (const memory::RegionError& error) {
        throw refusal(object, error);
    }
}

RingReader::RingReader(const RingReaderOptions& options) : RingReader(options, open(options)) {}

RingReader::RingReader(const RingReaderOptions& options, Opened opened)
    : region_(std::move(opened.region)),
      board_(opened.board),
      ring_(std::as_const(region_).bytes(), kMarketContent),
      names_(board_.max_instruments()),
      options_(options) {
    if (!options_.joins) register_once();
}

void RingReader::register_once() {
    if (options_.visible_as.empty() || registration_) return;
    registration_ = ReaderRegistration::acquire(options_.name, region_, ReaderName{options_.visible_as}, epoch());
    if (registration_) registration_->update(ring_.next(), 0);
}

void RingReader::seek(std::uint64_t number) noexcept {
    ring_.seek(number);
    covered_.until = 0;
    filtered_ = 0;
    from_board_ = 0;
}

RingAccount RingReader::account() const noexcept {
    const auto ring = ring_.account();
    return {.since = ring.since,
            .published = ring.published,
            .delivered = ring.delivered - filtered_,
            .filtered = filtered_,
            .missed = ring.missed,
            .queued = ring.queued,
            .from_board = from_board_};
}

const Instrument* RingReader::instrument(feed::InstrumentId id) noexcept {
    if (id >= names_.size()) return nullptr;
    auto& name = names_[id];
    if (!name) name = board_.instrument(id);
    return name ? &*name : nullptr;
}

WriterState RingReader::writer_state(core::Moment now) noexcept {
    switch (ring_.state()) {
        case queue::BroadcastState::closed: return WriterState::closed;
        case queue::BroadcastState::superseded: return WriterState::superseded;
        case queue::BroadcastState::open: break;
    }
    const auto age_ns = heartbeat_.age_ns(ring_.heartbeat_utc_ns(), now);
    return age_ns > options_.silent_after.count() ? WriterState::silent : WriterState::alive;
}

bool RingReader::covered(const feed::Quote& quote) const noexcept {
    return quote.instrument < covered_.quotes.size() && head_.number <= covered_.quotes[quote.instrument];
}

bool RingReader::covered(const feed::Gap& gap) const noexcept {
    return gap.channel < covered_.gaps.size() && head_.number <= covered_.gaps[gap.channel];
}

void RingReader::adapt(feed::Quote& quote) const noexcept {
    if (voided(quote)) quote = emptied(quote.instrument, quote.channel, quote.receive_utc_ns, quote.receive_ticks);
    mark_gapped(quote, head_.number);
    quote.flags |= last_flag(quote);
}

bool RingReader::covered(const feed::Status& status) const noexcept {
    if (status.instrument == feed::kNoInstrument) {
        return status.channel < covered_.channel_statuses.size() &&
               head_.number <= covered_.channel_statuses[status.channel];
    }
    return status.instrument < covered_.statuses.size() && head_.number <= covered_.statuses[status.instrument];
}

bool RingReader::covered(const feed::Clear& clear) const noexcept {
    if (clear.instrument == feed::kNoInstrument) return voided(clear);
    return clear.instrument < covered_.quotes.size() && head_.number <= covered_.quotes[clear.instrument];
}

}  // namespace millpond::market
