#include "gateway/receive/soupbin_receiver.hpp"

#include <algorithm>
#include <utility>

#include <millpond/core/clock.hpp>

namespace millpond::gateway {

namespace mold = feed::moldudp64_layout;

SoupBinReceiver::SoupBinReceiver(const net::SoupBinClient::Options& options) : client_(options), buffer_(kBufferBytes) {
    report_.local = options.connection.server;
    datagrams_.reserve(kMaxDatagrams);
}

std::span<const net::Datagram> SoupBinReceiver::poll() noexcept {
    datagrams_.clear();
    used_ = 0;
    new_session_.reset();
    if (client_.poll(*this) == 0) return {};
    if (is_open_) finish();
    if (std::exchange(is_alive_, false) && datagrams_.empty()) {
        begin(0);
        finish();
    }
    const auto utc_ns = core::utc_nanos();
    const auto ticks = core::ticks();
    for (auto& datagram : datagrams_) {
        datagram.receive_utc_ns = utc_ns;
        datagram.receive_ticks = ticks;
    }
    return datagrams_;
}

void SoupBinReceiver::beat() noexcept { client_.on_timer(core::monotonic_nanos()); }

void SoupBinReceiver::on_login(const net::soupbin::Session& session, std::uint64_t next, bool is_new) noexcept {
    encoder_ = feed::MoldUdp64Encoder{session.view(), next};
    if (is_new && std::exchange(has_joined_, true)) {
        auto& started = new_session_.emplace();
        started.fill(' ');
        const auto name = session.view();
        std::ranges::copy(name, started.begin());
    }
    if (client_.is_in_doubt()) return;  // a datagram would make the decoder believe the number
    begin(0);
    finish();
}

void SoupBinReceiver::on_message(std::span<const std::byte> message, std::uint64_t) noexcept {
    if (is_open_ && encoder_.add(message)) return;
    if (is_open_) finish();
    begin(message.size());
    static_cast<void>(encoder_.add(message));  // it fits an empty datagram
}

void SoupBinReceiver::on_heartbeat(std::uint64_t) noexcept { is_alive_ = true; }

void SoupBinReceiver::on_end_of_session(std::uint64_t) noexcept {
    if (is_open_) finish();
    begin(0);
    is_open_ = false;
    add(encoder_.finish_session());
}

/// Begins a datagram that has room for a message of this length.
void SoupBinReceiver::begin(std::size_t bytes) noexcept {
    const auto room = std::max(kDatagramBytes, mold::kHeaderBytes + mold::kLengthBytes + bytes);
    encoder_.begin(std::span{buffer_}.subspan(used_, std::min(room, buffer_.size() - used_)));
    is_open_ = true;
}

void SoupBinReceiver::finish() noexcept {
    is_open_ = false;
    add(encoder_.finish());
}

void SoupBinReceiver::add(std::span<const std::byte> datagram) noexcept {
    used_ += datagram.size();
    datagrams_.push_back({.bytes = datagram, .receive_utc_ns = 0, .receive_ticks = 0});
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
}

}  // namespace millpond::gateway
