#include "apps/millpond/traffic/glimpse_snapshot.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/feed/glimpse_layout.hpp>
#include <millpond/feed/itch_layout.hpp>

namespace millpond::traffic {
namespace {

namespace at = feed::itch_layout;

std::uint64_t order_in(std::span<const std::byte> message) {
    return core::load_be<std::uint64_t>(message.data() + at::order_added::kOrderAt);
}
std::uint32_t shares_in(std::span<const std::byte> message, std::size_t place) {
    return core::load_be<std::uint32_t>(message.data() + place);
}

}  // namespace

void GlimpseSnapshot::apply(std::span<const std::byte> message) {
    ++next_;
    if (message.empty()) return;
    const char type = static_cast<char>(message[0]);
    if (message.size() != at::message_bytes(type)) return;
    const Message copy{message.begin(), message.end()};
    const auto locate = core::load_be<std::uint16_t>(message.data() + at::kLocateAt);
    switch (type) {
        case 'S': system_event_ = copy; return;
        case 'R': directory_[locate] = copy; return;
        case 'H': actions_[locate] = copy; return;
        case 'Y': restrictions_[locate] = copy; return;
        case 'h': halts_[{locate, static_cast<char>(message[at::operational_halt::kMarketAt])}] = copy; return;
        case 'A':
        case 'F': orders_.insert_or_assign(order_in(message), copy); return;
        case 'E':
        case 'C': return reduce(order_in(message), shares_in(message, at::order_executed::kSharesAt));
        case 'X': return reduce(order_in(message), shares_in(message, at::order_reduced::kSharesAt));
        case 'D': orders_.erase(order_in(message)); return;
        case 'U': return replace(message);
        default: return;
    }
}

void GlimpseSnapshot::reduce(std::uint64_t order, std::uint32_t shares) {
    const auto found = orders_.find(order);
    if (found == orders_.end()) return;
    auto* const place = found->second.data() + at::order_added::kSharesAt;
    const auto left = core::load_be<std::uint32_t>(place);
    if (left <= shares) {
        orders_.erase(found);
    } else {
        core::store_be(place, left - shares);
    }
}

void GlimpseSnapshot::replace(std::span<const std::byte> message) {
    namespace to = at::order_replaced;
    const auto found = orders_.find(order_in(message));
    if (found == orders_.end()) return;
    auto order = std::move(found->second);
    orders_.erase(found);
    const auto number = core::load_be<std::uint64_t>(message.data() + to::kNewOrderAt);
    core::store_be(order.data() + at::order_added::kOrderAt, number);
    core::store_be(order.data() + at::order_added::kSharesAt, shares_in(message, to::kSharesAt));
    core::store_be(order.data() + at::order_added::kPriceAt, shares_in(message, to::kPriceAt));
    std::ranges::copy(message.subspan(at::kTimeAt, 6), order.data() + at::kTimeAt);
    orders_.insert_or_assign(number, std::move(order));
}

std::vector<GlimpseSnapshot::Message> GlimpseSnapshot::messages() const {
    std::vector<Message> all;
    all.reserve(directory_.size() + actions_.size() + restrictions_.size() + halts_.size() + orders_.size() + 2);
    if (!system_event_.empty()) all.push_back(system_event_);
    for (const auto* group : {&directory_, &actions_, &restrictions_}) {
        for (const auto& [locate, message] : *group) all.push_back(message);
    }
    for (const auto& [key, message] : halts_) all.push_back(message);
    for (const auto& [number, message] : orders_) all.push_back(message);
    Message end(feed::glimpse_layout::kEndBytes);
    feed::glimpse_layout::write_end(next_, std::span<std::byte, feed::glimpse_layout::kEndBytes>{end});
    all.push_back(std::move(end));
    return all;
}

}  // namespace millpond::traffic
