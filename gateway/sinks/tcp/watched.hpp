#pragma once

#include <cstdint>

#include <sys/epoll.h>

namespace millpond::gateway::tcp {

/// Target of the epoll events of a client's socket.
class Watched {
public:
    /// Records events of the socket.
    void note(std::uint32_t events) noexcept {
        if ((events & EPOLLIN) != 0) readable_ = true;
        if ((events & EPOLLOUT) != 0) writable_ = true;
        if ((events & (EPOLLERR | EPOLLHUP)) != 0) broken_ = true;
    }

protected:
    Watched() = default;
    ~Watched() = default;

    /// Watches these events from now on. operation: EPOLL_CTL_ADD or EPOLL_CTL_MOD.
    void watch(int epoll, int operation, int socket, std::uint32_t events) noexcept {
        if (operation == EPOLL_CTL_MOD && events == watched_) return;
        epoll_event event{};
        event.events = watched_ = events;
        event.data.ptr = this;
        epoll_ctl(epoll, operation, socket, &event);
    }

    bool readable_{false};
    bool writable_{true};
    bool broken_{false};

private:
    std::uint32_t watched_{0};
};

}  // namespace millpond::gateway::tcp
