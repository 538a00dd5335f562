#include "gateway/json_lines/client_table.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

namespace millpond::gateway::json_lines {

void ClientTable::add(Subscriber& subscriber, std::string_view peer) {
    clients_.push_back(
        {.subscriber = &subscriber, .id = ++added_, .peer = std::string{peer}, .connected_utc_ns = core::utc_nanos()});
}

void ClientTable::remove(const Subscriber& subscriber) {
    std::erase_if(clients_, [&](const Client& client) { return client.subscriber == &subscriber; });
}

std::int64_t ClientTable::age(std::uint64_t line, std::int64_t now_ns) const noexcept {
    std::int64_t age_ns = 0;
    for (const auto& mark : marks_) {
        if (mark.at_ns != 0 && line < mark.line) age_ns = std::max(age_ns, now_ns - mark.at_ns);
    }
    return age_ns;
}

std::vector<Subscriber*> ClientTable::update(const LineLog& log, std::int64_t now_ns) {
    constexpr std::int64_t kEveryNs = 1'000'000'000;
    const auto since_ns = now_ns - published_ns_;
    if (since_ns < kEveryNs) return {};
    const auto seconds = static_cast<double>(since_ns) / static_cast<double>(kEveryNs);
    ClientList::Clients shown;
    shown.reserve(clients_.size());
    for (const auto& client : clients_) {
        const auto account = client.subscriber->account();
        shown.push_back({.id = client.id,
                         .peer = client.peer,
                         .name = client.subscriber->name(),
                         .connected_utc_ns = client.connected_utc_ns,
                         .account = account,
                         .delivered_per_second = static_cast<double>(account.delivered - client.delivered) / seconds,
                         .lag_ns = account.queued == 0 ? 0 : age(client.subscriber->next_line(), now_ns)});
    }
    if (!list_->publish(std::move(shown))) return {};
    for (auto& client : clients_) client.delivered = client.subscriber->account().delivered;
    published_ns_ = now_ns;
    marks_[next_mark_++ % marks_.size()] = {.line = log.end(), .at_ns = now_ns};
    std::vector<Subscriber*> disconnected;
    for (const auto id : list_->take_disconnects()) {
        const auto found = std::ranges::find(clients_, id, &Client::id);
        if (found != clients_.end()) disconnected.push_back(found->subscriber);
    }
    return disconnected;
}

}  // namespace millpond::gateway::json_lines
