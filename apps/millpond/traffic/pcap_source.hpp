#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <millpond/files/pcap_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// The datagrams of a capture file with their recorded intervals.
class PcapSource final : public Source {
public:
    /// only: if set, destination of the chosen datagrams; port 0: any port. Throws like files::PcapReader.
    explicit PcapSource(const std::string& path, std::optional<net::SocketAddress> only = std::nullopt,
                        files::Timestamps timestamps = files::Timestamps::automatic);

    /// Calls `visit` for each chosen datagram.
    void visit_with(std::function<void(const files::CapturedDatagram&)> visit) { visit_ = std::move(visit); }

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] std::string error() const override { return reader_.error(); }
    [[nodiscard]] double fraction() const override;

    [[nodiscard]] const files::PcapReader& reader() const noexcept { return reader_; }
    /// Number of datagrams to other addresses.
    [[nodiscard]] std::uint64_t passed_over() const noexcept { return passed_over_; }
    /// Destinations of the chosen datagrams, at most kMaxAddresses.
    [[nodiscard]] const std::vector<net::SocketAddress>& addresses() const noexcept { return addresses_; }
    static constexpr std::size_t kMaxAddresses = 8;

private:
    [[nodiscard]] bool is_chosen(const net::SocketAddress& destination) const noexcept;
    void note(const net::SocketAddress& destination);

    files::PcapReader reader_;
    std::optional<net::SocketAddress> only_;
    std::function<void(const files::CapturedDatagram&)> visit_;
    std::uint64_t file_bytes_;
    std::uint64_t passed_over_{0};
    std::vector<net::SocketAddress> addresses_;
    std::optional<std::int64_t> first_utc_ns_;
    std::int64_t latest_due_ns_{0};
};

}  // namespace millpond::traffic
