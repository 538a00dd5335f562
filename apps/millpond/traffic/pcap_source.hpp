#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/net/pcap_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// The datagrams of a capture file with their recorded intervals.
class PcapSource final : public Source {
public:
    /// only: if set, only datagrams to this address; port 0: to any port of it. Throws like
    /// net::PcapReader.
    explicit PcapSource(const std::string& path, std::optional<net::SocketAddress> only = std::nullopt);

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] std::string error() const override { return reader_.error(); }
    [[nodiscard]] double fraction() const override;

    [[nodiscard]] const net::PcapReader::Counts& counts() const noexcept { return reader_.counts(); }
    /// Datagrams to other addresses.
    [[nodiscard]] std::uint64_t passed_over() const noexcept { return passed_over_; }
    /// To which the chosen datagrams were captured, at most kMostAddresses of them.
    [[nodiscard]] const std::vector<net::SocketAddress>& addresses() const noexcept { return addresses_; }
    static constexpr std::size_t kMostAddresses = 8;

private:
    [[nodiscard]] bool is_chosen(const net::SocketAddress& destination) const noexcept;
    void note(const net::SocketAddress& destination);

    net::PcapReader reader_;
    std::optional<net::SocketAddress> only_;
    std::uint64_t file_bytes_;
    std::uint64_t passed_over_{0};
    std::vector<net::SocketAddress> addresses_;
    std::optional<std::int64_t> first_utc_ns_;
    std::int64_t latest_due_ns_{0};
};

}  // namespace millpond::traffic
