#include "connection.hpp"

#include <sys/epoll.h>

namespace millpond::engine {

void Connection::watch(IoThread& io, ConnectionOwner& owner) {
    owner_ = &owner;
    reads_ = true;
    writes_ = transport_->wants_writable();
    io.watch(transport_->descriptor(), EPOLLIN | (writes_ ? std::uint32_t{EPOLLOUT} : 0U), *this, true);
    io_ = &io;
}

void Connection::unwatch() noexcept {
    if (io_ == nullptr) return;
    io_->unwatch(transport_->descriptor(), *this);
    io_ = nullptr;
    owner_ = nullptr;
}

bool Connection::receive(InputBuffer& input) noexcept {
    do {
        const auto room = input.room();
        if (room.empty()) return true;
        const auto moved = transport_->receive(room);
        input.add(moved.bytes);
        if (moved.over) return false;
        // Less than the free space: nothing else is available, and epoll reports later data.
        if (moved.bytes < room.size() && !transport_->holds_input()) break;
    } while (true);
    if (transport_->wants_writable() != writes_) watch_writable(transport_->wants_writable() || writes_);
    return true;
}

void Connection::watch_writable(bool wanted) noexcept {
    if (wanted == writes_) return;
    writes_ = wanted;
    apply();
}

void Connection::watch_readable(bool wanted) noexcept {
    if (wanted == reads_) return;
    reads_ = wanted;
    apply();
}

void Connection::apply() noexcept {
    if (io_ == nullptr) return;
    std::uint32_t events = 0;
    if (reads_) events |= EPOLLIN;
    if (writes_) events |= EPOLLOUT;
    io_->change(transport_->descriptor(), events, *this);
}

void Connection::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    if (owner_ != nullptr) owner_->on_ready(*this, now);
}

}  // namespace millpond::engine
