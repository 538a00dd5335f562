#include "apps/millpond/traffic/iex_history.hpp"

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_layout.hpp>

namespace millpond::traffic {

namespace iex = feed::iex_layout;

void IexHistory::add(std::span<const std::byte> datagram) {
    if (datagram.size() < iex::kHeaderBytes) return;
    const auto protocol = core::load_le<std::uint16_t>(datagram.data() + iex::kProtocolAt);
    const auto packet = feed::IexPacket::read(datagram, protocol, [](auto) {});
    if (packet.error) return;
    const std::lock_guard lock{mutex_};
    auto& stream = streams_[{protocol, packet.session.channel}];
    const bool begins = stream.session != packet.session.number || stream.next.number == 0 ||
                        packet.sequence > stream.next.number + kMaxHole;
    if (begins)
        stream = {.session = packet.session.number, .first = packet.sequence, .next = {}, .records = {}, .bytes = {}};
    auto offset = core::load_le<std::uint64_t>(datagram.data() + iex::kOffsetAt);
    const auto send_utc_ns = core::load_le<std::int64_t>(datagram.data() + iex::kSendTimeAt);
    auto place = iex::kHeaderBytes;
    for (auto number = packet.sequence; number < packet.sequence + packet.messages; ++number) {
        const auto message = feed::next_iex_block(datagram, place);
        const auto block = iex::kLengthBytes + message.size();
        if (number >= stream.first) {
            const auto index = number - stream.first;
            if (index >= stream.records.size()) stream.records.resize(index + 1);
            auto& record = stream.records[index];
            if (!record.is_known) {
                record = {.begin = stream.bytes.size(),
                          .offset = offset,
                          .send_utc_ns = send_utc_ns,
                          .size = static_cast<std::uint16_t>(message.size()),
                          .is_known = true};
                stream.bytes.insert(stream.bytes.end(), message.begin(), message.end());
            }
        }
        offset += block;
    }
    const auto end = packet.sequence + packet.messages;
    if (end >= stream.next.number) stream.next = {.number = end, .offset = offset, .send_utc_ns = send_utc_ns};
    // A heartbeat may announce messages that the capture lacks.
    stream.records.resize(stream.next.number - stream.first);
}

void IexHistory::restart() {
    const std::lock_guard lock{mutex_};
    streams_.clear();
    ++restarts_;
}

std::uint64_t IexHistory::restarts() const {
    const std::lock_guard lock{mutex_};
    return restarts_;
}

const IexHistory::Stream* IexHistory::find(std::uint16_t protocol, const feed::IexSession& session) const {
    const auto found = streams_.find({protocol, session.channel});
    return found != streams_.end() && found->second.session == session.number ? &found->second : nullptr;
}

bool IexHistory::has_channel(std::uint16_t protocol, std::uint32_t channel) const {
    const std::lock_guard lock{mutex_};
    return streams_.contains({protocol, channel});
}

std::optional<IexHistory::Next> IexHistory::next(std::uint16_t protocol, const feed::IexSession& session) const {
    const std::lock_guard lock{mutex_};
    const auto* const stream = find(protocol, session);
    if (stream == nullptr) return std::nullopt;
    return stream->next;
}

}  // namespace millpond::traffic
