#include "apps/millpond/traffic/iex_gap_fill_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include <millpond/feed/iex_encoder.hpp>

namespace millpond::traffic {
namespace {

constexpr std::size_t kDatagramBytes = 1'400;
constexpr std::size_t kSegmentBytes = std::size_t{32} * 1'024;  // by TCP, of at most 64 KB
constexpr int kBusyMs = 1;

}  // namespace

/// The segments of one connection's requests, whose ranges increase. It ends when they are filled, or when all that was
/// published has been sent.
class IexGapFillServer::Reply final : public StreamReply {
public:
    explicit Reply(IexGapFillServer& server) : server_(server) {}

    [[nodiscard]] std::optional<std::size_t> read(std::span<const std::byte> received) override {
        std::size_t read = 0;
        for (;;) {
            const auto rest = received.subspan(read);
            const auto length = feed::IexGapFillRequest::length(rest);
            if (length && *length > kMaxRequestBytes) return std::nullopt;
            if (!length || *length > rest.size()) return read;
            const auto request = feed::IexGapFillRequest::read(rest.first(*length));
            server_.requests_.fetch_add(1, std::memory_order_relaxed);
            if (!request || !add(*request)) return std::nullopt;
            read += *length;
        }
    }
    [[nodiscard]] bool write(std::vector<std::byte>& out) override {
        if (!has_asked_) return true;
        if (wanted_.empty()) return false;
        auto& range = wanted_.front();
        const auto begin = out.size();
        out.resize(begin + kSegmentBytes);
        std::span<const std::byte> segment;
        const auto end = server_.write_segment(protocol_, session_, range, std::span{out}.subspan(begin), segment);
        out.resize(begin + segment.size());
        if (end == 0) {
            wanted_.pop_front();
            return !wanted_.empty();
        }
        range.first = end;
        if (range.first > range.last) wanted_.pop_front();
        return !wanted_.empty();
    }

private:
    static constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 20U;

    [[nodiscard]] bool add(const feed::IexGapFillRequest& request) {
        if (has_asked_ && (request.protocol() != protocol_ || request.session() != session_)) return false;
        if (!server_.history_.next(request.protocol(), request.session())) return false;
        protocol_ = request.protocol();
        session_ = request.session();
        has_asked_ = true;
        for (std::size_t i = 0; i < request.size(); ++i) {
            const auto range = request.range(i);
            if (range.first <= last_) return false;
            last_ = range.last;
            wanted_.push_back(range);
        }
        return true;
    }

    IexGapFillServer& server_;
    std::uint16_t protocol_{0};
    feed::IexSession session_{};
    std::deque<feed::IexRange> wanted_;
    std::uint64_t last_{0};  // of the newest range
    bool has_asked_{false};
};

IexGapFillServer::IexGapFillServer(const net::SocketAddress& listen, const IexHistory& history)
    : history_(history), streams_(listen, "gap fills", [this] { return std::make_unique<Reply>(*this); }) {
    sockaddr_storage address{};
    const auto length = streams_.address().to_kernel(address);
    datagrams_ = core::Descriptor{::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!datagrams_ || ::bind(datagrams_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot serve gap fills at " + streams_.address().to_string());
}

void IexGapFillServer::poll(int timeout_ms) {
    std::array<pollfd, 2> waits{{{datagrams_.get(), POLLIN, 0}, {streams_.fd(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), streams_.is_busy() ? std::min(timeout_ms, kBusyMs) : timeout_ms);
    streams_.poll(0);
    for (;;) {
        std::array<std::byte, kDatagramBytes> bytes;
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        const auto got =
            ::recvfrom(datagrams_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
        if (got < 0) return;
        requests_.fetch_add(1, std::memory_order_relaxed);
        const auto request = feed::IexGapFillRequest::read(std::span{bytes}.first(static_cast<std::size_t>(got)));
        if (request) answer(*request, net::SocketAddress::from_kernel(from));
    }
}

void IexGapFillServer::answer(const feed::IexGapFillRequest& request, const net::SocketAddress& to) {
    const auto next = history_.next(request.protocol(), request.session());
    if (!next) return;
    std::array<std::byte, kDatagramBytes> buffer;
    if (request.size() == 0) {
        feed::IexEncoder encoder{{.protocol = request.protocol(),
                                  .session = request.session(),
                                  .first_sequence = next->number,
                                  .first_offset = next->offset}};
        encoder.begin(buffer);
        return send(encoder.finish(next->send_utc_ns), to);
    }
    auto left = feed::iex_gap_fill::kMaxUdpMessages;
    for (std::size_t i = 0; i < request.size() && left != 0; ++i) {
        auto range = request.range(i);
        while (left != 0 && range.first <= range.last) {
            std::span<const std::byte> segment;
            const auto first = range.first;
            const auto end = write_segment(request.protocol(), request.session(),
                                           {first, std::min(range.last, first + left - 1)}, buffer, segment);
            if (end == 0) break;
            send(segment, to);
            left -= std::min(end - first, left);
            range.first = end;
        }
    }
}

/// A datagram that the kernel does not take is lost; the client repeats its request.
void IexGapFillServer::send(std::span<const std::byte> segment, const net::SocketAddress& to) const {
    sockaddr_storage address{};
    const auto length = to.to_kernel(address);
    static_cast<void>(::sendto(datagrams_.get(), segment.data(), segment.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&address), length));
}

std::uint64_t IexGapFillServer::write_segment(std::uint16_t protocol, const feed::IexSession& session,
                                              const feed::IexRange& range, std::span<std::byte> buffer,
                                              std::span<const std::byte>& segment) {
    std::optional<feed::IexEncoder> encoder;
    std::int64_t send_utc_ns = 0;
    std::uint64_t messages = 0;
    const auto end = history_.visit(protocol, session, range, [&](const IexHistory::Message& message) {
        if (!encoder) {
            encoder.emplace(feed::IexEncoder::Options{.protocol = protocol,
                                                      .session = session,
                                                      .first_sequence = message.number,
                                                      .first_offset = message.offset});
            encoder->begin(buffer);
            send_utc_ns = message.send_utc_ns;
        }
        if (!encoder->add(message.bytes)) return false;
        ++messages;
        return true;
    });
    if (end == 0) return 0;
    segment = encoder->finish(send_utc_ns);
    answered_.fetch_add(messages, std::memory_order_relaxed);
    return end;
}

}  // namespace millpond::traffic
