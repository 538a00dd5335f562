#include "apps/millpond/traffic/transmitter.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace millpond::traffic {
namespace {

constexpr int kTimeoutMs = 20;

}  // namespace

Transmitter::Transmitter(net::UdpSender& sender, Clock& clock, const Options& options)
    : sender_(sender), clock_(clock), options_(options), began_(clock.now()) {
    if (!std::isfinite(options.speed) || options.speed < 0.0)
        throw std::invalid_argument("speed is " + std::to_string(options.speed) + ", it must be 0 (max) or above");
    if (options.batch < 1 || options.batch > 1024)
        throw std::invalid_argument("batch is " + std::to_string(options.batch) + "; it must be 1 to 1024");
    waiting_.reserve(options.batch);
    spans_.reserve(options.batch);
}

bool Transmitter::run(Source& source, const std::atomic<bool>& stop) {
    const auto start = clock_.now();
    bool going = true;
    Outgoing datagram;
    auto now = start;
    while (going && source.next(datagram)) {
        auto due = now;
        if (options_.speed > 0.0) {
            due = start + static_cast<std::int64_t>(static_cast<double>(datagram.due_ns) / options_.speed);
            if (due > now) {
                // Sends the collected datagrams, which are due, and waits for the next one.
                going = flush(stop) && wait(due, source, stop);
                now = clock_.now();
            }
        }
        if (!going) break;
        add(datagram, due);
        if (waiting_.size() == options_.batch) {
            going = flush(stop);
            now = clock_.now();
            report(source, false);
        }
    }
    going = going && flush(stop);
    waiting_.clear();
    bytes_.clear();
    report(source, true);
    return going;
}

bool Transmitter::wait(std::int64_t due, const Source& source, const std::atomic<bool>& stop) {
    if (const auto wait_ns = due - clock_.now(); wait_ns > kLongWait && report_wait_) report_wait_(wait_ns);
    while (clock_.now() < due) {
        if (stop.load(std::memory_order_relaxed)) return false;
        report(source, false);
        clock_.wait_until(due);
    }
    return !stop.load(std::memory_order_relaxed);
}

void Transmitter::add(const Outgoing& datagram, std::int64_t due) {
    bytes_.insert(bytes_.end(), datagram.bytes.begin(), datagram.bytes.end());
    waiting_.push_back({due, datagram.bytes.size(), datagram.messages});
}

bool Transmitter::flush(const std::atomic<bool>& stop) {
    spans_.clear();
    std::size_t offset = 0;
    for (const auto& each : waiting_) {
        spans_.emplace_back(bytes_.data() + offset, each.size);
        offset += each.size;
    }
    std::size_t done = 0;
    while (done < spans_.size() && !stop.load(std::memory_order_relaxed)) {
        const auto errors_before = sender_.counters().errors.read();
        const auto accepted = sender_.send(std::span(spans_).subspan(done));
        account(done, accepted, clock_.now());
        done += accepted;
        if (done < spans_.size()) handle_refusal(errors_before, done);
    }
    const bool all = done == spans_.size();
    waiting_.clear();
    bytes_.clear();
    return all;
}

void Transmitter::account(std::size_t first, std::size_t count, std::int64_t now) noexcept {
    for (std::size_t i = first; i < first + count; ++i) {
        ++sent_.datagrams;
        sent_.bytes += waiting_[i].size;
        sent_.messages += waiting_[i].messages;
        const auto late_by = now - waiting_[i].time;
        if (options_.speed > 0.0 && late_by > kOnTime) {
            ++sent_.late;
            sent_.max_late_ns = std::max(sent_.max_late_ns, late_by);
        }
    }
}

void Transmitter::handle_refusal(std::uint64_t errors_before, std::size_t& done) noexcept {
    if (sender_.counters().errors.read() != errors_before) {
        ++sent_.failed;
        ++done;
        return;
    }
    ++sent_.waits;
    pollfd wait{sender_.fd(), POLLOUT, 0};
    if (::poll(&wait, 1, kTimeoutMs) > 0) {
        // A refusal by a writable socket: the device's queue is full, and no event reports when it drains.
        ::poll(nullptr, 0, 1);
    }
}

void Transmitter::report(const Source& source, bool always) {
    const auto now = clock_.now();
    if (!always && now < report_at_) return;
    report_at_ = now + kReportEvery;
    sent_.elapsed_ns = now - began_;
    sent_.fraction = source.fraction();
    if (report_) report_(sent_);
}

}  // namespace millpond::traffic
