#pragma once

#include <cstdint>
#include <string>

#include "tests/support/line_client.hpp"

namespace millpond::app {

/// Response of an HTTP server on this machine, including its header.
[[nodiscard]] inline std::string page_of(std::uint16_t port, const std::string& path) {
    test::LineClient client{port};
    client.send_text("GET " + path + " HTTP/1.0\r\n\r\n");
    while (!client.over()) {
        client.wait();
        client.receive();
    }
    return client.text();
}

}  // namespace millpond::app
