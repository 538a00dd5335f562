#include "fixd/accept/failed_logons.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

namespace millpond::fixd {
namespace {

constexpr std::size_t kMaxRecords = 10'000;
constexpr std::uint64_t kMaxDoublings = 6;
constexpr std::chrono::hours kForgiven{1};
constexpr std::size_t kNetworkBytes = 8;

}  // namespace

std::optional<FailedLogons::Wait> FailedLogons::wait(const std::string& who, Clock::time_point now) const {
    const auto known = records_.find(who);
    if (known == records_.end() || now >= known->second.until) return std::nullopt;
    return Wait{.left = std::chrono::ceil<std::chrono::seconds>(known->second.until - now),
                .failures = known->second.failures};
}

void FailedLogons::failed(const std::string& who, Clock::time_point now) {
    if (!records_.contains(who)) evict_if_full(now);
    auto& record = records_[who];
    if (now - record.until > kForgiven) record.failures = 0;
    record.until = now + std::chrono::seconds{1ULL << std::min(record.failures, kMaxDoublings)};
    ++record.failures;
}

void FailedLogons::evict_if_full(Clock::time_point now) {
    if (records_.size() < kMaxRecords) return;
    std::erase_if(records_, [&](const auto& one) { return now - one.second.until > kForgiven; });
    if (records_.size() < kMaxRecords) return;
    records_.erase(std::ranges::min_element(records_, {}, [](const auto& one) { return one.second.until; }));
}

std::string source_of(const net::SocketAddress& peer) {
    sockaddr_storage kernel{};
    peer.to_kernel(kernel);
    sockaddr_in6 six{};
    std::memcpy(&six, &kernel, sizeof six);
    if (kernel.ss_family != AF_INET6 || IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return peer.host();
    std::array<std::byte, sizeof six.sin6_addr> network{};
    std::memcpy(network.data(), &six.sin6_addr, kNetworkBytes);
    return net::SocketAddress::ipv6(network.data(), 0).host() + "/64";
}

}  // namespace millpond::fixd
