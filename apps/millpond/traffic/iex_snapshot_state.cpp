#include "apps/millpond/traffic/iex_snapshot_state.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_snap.hpp>

namespace millpond::traffic {
namespace {

namespace iex = feed::iex_layout;

template <class Integer>
Integer read(const std::vector<std::byte>& bytes, std::size_t place) {
    return core::load_le<Integer>(bytes.data() + place);
}
std::string symbol_in(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data() + iex::kSymbolAt), iex::kSymbolBytes};
}
/// Bytes of the types that change the state; 0 for others.
std::size_t least_bytes(char type, bool has_orders) {
    switch (type) {
        case 'S': return iex::kSystemEventBytes;
        case 'D': return iex::directory::kBytes;
        case 'H': return iex::trading_status::kBytes;
        case 'E':
        case 'O':
        case 'I': return iex::kWithSymbolBytes;
        case 'P': return iex::short_sale::kBytes;
        case 'X': return has_orders ? 0 : iex::official_price::kBytes;
        case '8':
        case '5': return has_orders ? 0 : iex::level::kBytes;
        case 'a':
        case 'M': return has_orders ? iex::order::kBytes : 0;
        case 'R': return has_orders ? iex::order::kRemovedBytes : 0;
        case 'L': return has_orders ? iex::order::kExecutedBytes : 0;
        case 'C': return has_orders ? iex::kWithSymbolBytes : 0;
        default: return 0;
    }
}

}  // namespace

void IexSnapshotState::apply(const IexHistory::Message& message) {
    number_ = message.number;
    if (message.bytes.empty()) return;
    const char type = static_cast<char>(message.bytes[0]);
    const auto least = least_bytes(type, protocol_ == iex::kDeepPlus);
    if (least == 0 || message.bytes.size() < least) return;
    Kept kept{{message.bytes.begin(), message.bytes.end()}, message.number, message.offset, message.send_utc_ns};
    switch (type) {
        case 'S': system_event_ = std::move(kept); return;
        case 'D': directory_[symbol_in(kept.bytes)] = std::move(kept); return;
        case '8':
        case '5': return set_level(std::move(kept));
        case 'a':
            orders_.insert_or_assign(read<std::uint64_t>(kept.bytes, iex::order::kOrderAt), std::move(kept));
            return;
        case 'M': return modify(kept);
        case 'R': orders_.erase(read<std::uint64_t>(kept.bytes, iex::order::kOrderAt)); return;
        case 'L': return reduce(kept);
        case 'C': {
            const auto symbol = symbol_in(kept.bytes);
            std::erase_if(orders_, [&](const auto& order) { return symbol_in(order.second.bytes) == symbol; });
            return;
        }
        default: {
            const auto key = std::pair{symbol_in(kept.bytes), static_cast<std::uint8_t>(type)};
            states_[key] = std::move(kept);
        }
    }
}

void IexSnapshotState::set_level(Kept kept) {
    const auto key = std::tuple{symbol_in(kept.bytes), static_cast<char>(kept.bytes[0]),
                                read<std::int64_t>(kept.bytes, iex::level::kPriceAt)};
    if (read<std::uint32_t>(kept.bytes, iex::level::kSizeAt) == 0) {
        levels_.erase(key);
        return;
    }
    kept.bytes[iex::kCodeAt] = std::byte{iex::level::kComplete};
    levels_[key] = std::move(kept);
}

/// The order keeps its message; without its priority it gets the number of the modification.
void IexSnapshotState::modify(const Kept& kept) {
    const auto found = orders_.find(read<std::uint64_t>(kept.bytes, iex::order::kOrderAt));
    if (found == orders_.end()) return;
    auto& order = found->second;
    const bool keeps = (static_cast<std::uint8_t>(kept.bytes[iex::kCodeAt]) & iex::order::kKeepsPriority) != 0;
    if (!keeps) {
        order.number = kept.number;
        order.offset = kept.offset;
        order.send_utc_ns = kept.send_utc_ns;
        std::copy_n(kept.bytes.begin() + iex::kTimeAt, sizeof(std::int64_t), order.bytes.begin() + iex::kTimeAt);
    }
    std::copy(kept.bytes.begin() + iex::order::kSizeAt, kept.bytes.begin() + iex::order::kBytes,
              order.bytes.begin() + iex::order::kSizeAt);
}

void IexSnapshotState::reduce(const Kept& kept) {
    const auto found = orders_.find(read<std::uint64_t>(kept.bytes, iex::order::kOrderAt));
    if (found == orders_.end()) return;
    const auto had = read<std::uint32_t>(found->second.bytes, iex::order::kSizeAt);
    const auto executed = read<std::uint32_t>(kept.bytes, iex::order::kSizeAt);
    if (had <= executed) {
        orders_.erase(found);
    } else {
        core::store_le(found->second.bytes.data() + iex::order::kSizeAt, had - executed);
    }
}

void IexSnapshotState::add_data(std::vector<std::byte>& out, const Kept& kept) const {
    feed::IexEncoder encoder{
        {.protocol = protocol_, .session = session_, .first_sequence = kept.number, .first_offset = kept.offset}};
    std::vector<std::byte> buffer(iex::kHeaderBytes + iex::kLengthBytes + kept.bytes.size());
    encoder.begin(buffer);
    static_cast<void>(encoder.add(kept.bytes));  // it fits
    const auto segment = encoder.finish(kept.send_utc_ns);
    std::array<std::byte, feed::iex_snap::kBodyAt> head;
    core::store_le(head.data(), static_cast<std::uint16_t>(1 + segment.size()));
    head[feed::iex_snap::kTypeAt] = std::byte{'d'};
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), segment.begin(), segment.end());
}

std::vector<std::byte> IexSnapshotState::response() const {
    namespace snap = feed::iex_snap;
    std::vector<std::byte> out(snap::kStartBytes);
    for (const auto& [symbol, kept] : directory_) add_data(out, kept);
    if (!system_event_.bytes.empty()) add_data(out, system_event_);
    for (const auto& [key, kept] : states_) add_data(out, kept);
    for (const auto& [key, kept] : levels_) add_data(out, kept);
    for (const auto& [number, kept] : orders_) add_data(out, kept);
    const auto end = out.size();
    out.resize(end + snap::kEndBytes);
    const auto write = [&](std::size_t place, char type, std::uint64_t value) {
        core::store_le(out.data() + place, static_cast<std::uint16_t>(snap::kStartBytes - snap::kTypeAt));
        out[place + snap::kTypeAt] = static_cast<std::byte>(type);
        core::store_le(out.data() + place + snap::kBodyAt, value);
    };
    write(0, 's', out.size());
    write(end, 'x', number_);
    return out;
}

}  // namespace millpond::traffic
