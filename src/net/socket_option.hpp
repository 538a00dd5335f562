#pragma once

#include <sys/socket.h>

namespace millpond::net::detail {

template <class Value>
int set_option(int socket, int level, int name, const Value& value) noexcept {
    return setsockopt(socket, level, name, &value, sizeof value);
}

template <class Value>
Value get_option(int socket, int level, int name) noexcept {
    Value value{};
    socklen_t length = sizeof value;
    getsockopt(socket, level, name, &value, &length);
    return value;
}

}  // namespace millpond::net::detail
