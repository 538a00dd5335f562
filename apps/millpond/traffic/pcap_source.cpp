#include "apps/millpond/traffic/pcap_source.hpp"

#include <algorithm>

#include "apps/millpond/traffic/file_size.hpp"

namespace millpond::traffic {

PcapSource::PcapSource(const std::string& path, std::optional<net::SocketAddress> only, files::Timestamps timestamps)
    : reader_(path, timestamps), only_(only), file_bytes_(file_size(path)) {}

bool PcapSource::is_chosen(const net::SocketAddress& destination) const noexcept {
    if (!only_) return true;
    return only_->port() == 0 ? destination.with_port(0) == *only_ : destination == *only_;
}

bool PcapSource::next(Outgoing& out) {
    files::CapturedDatagram datagram;
    while (reader_.next(datagram)) {
        if (!is_chosen(datagram.destination)) {
            ++passed_over_;
            continue;
        }
        note(datagram.destination);
        if (visit_) visit_(datagram);
        if (!first_utc_ns_) first_utc_ns_ = datagram.utc_ns;
        // Captures of several interfaces are not always sorted by time.
        latest_due_ns_ = std::max(latest_due_ns_, datagram.utc_ns - *first_utc_ns_);
        out = {latest_due_ns_, datagram.payload, 1};
        return true;
    }
    return false;
}

void PcapSource::note(const net::SocketAddress& destination) {
    if (addresses_.size() == kMaxAddresses) return;
    if (std::ranges::find(addresses_, destination) == addresses_.end()) addresses_.push_back(destination);
}

double PcapSource::fraction() const {
    return file_bytes_ == 0 ? -1.0 : static_cast<double>(reader_.offset()) / static_cast<double>(file_bytes_);
}

}  // namespace millpond::traffic
