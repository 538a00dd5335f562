#include "src/engine/io/connection.hpp"

#include <sys/epoll.h>

namespace millpond::engine {

void Connection::watch(IoLoop& loop, ConnectionOwner& owner) {
    owner_ = &owner;
    reads_ = true;
    writes_ = transport_->wants_writable();
    loop.watch(transport_->descriptor(), EPOLLIN | (writes_ ? std::uint32_t{EPOLLOUT} : 0U), *this, true);
    loop_ = &loop;
}

void Connection::unwatch() noexcept {
    if (loop_ == nullptr) return;
    loop_->unwatch(transport_->descriptor(), *this);
    loop_ = nullptr;
    owner_ = nullptr;
}

bool Connection::receive(InputBuffer& input) noexcept {
    do {
        const auto space = input.free_space();
        if (space.empty()) return true;
        const auto moved = transport_->receive(space);
        input.add(moved.bytes);
        if (moved.over) return false;
        // Less than the free space was read: nothing else is available, and epoll reports later data.
        if (moved.bytes < space.size() && !transport_->holds_input()) break;
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
    if (loop_ == nullptr) return;
    std::uint32_t events = 0;
    if (reads_) events |= EPOLLIN;
    if (writes_) events |= EPOLLOUT;
    loop_->change(transport_->descriptor(), events, *this);
}

void Connection::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    if (owner_ != nullptr) owner_->on_ready(*this, now);
}

}  // namespace millpond::engine
