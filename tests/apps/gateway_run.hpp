#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/apps/program.hpp"

namespace millpond::app {

/// A gateway process with one feed, one ring, and ports chosen by the kernel.
class GatewayRun {
public:
    struct Options {
        std::string ring;  ///< Prefix of the ring's name, which is unique for each run.
        std::string format{"miax-tom"};
        std::string feed{};               ///< Further keys of the feed, each with a comma in front.
        std::vector<std::string> more{};  ///< Further arguments.
        std::string huge_pages{"none"};   ///< For the ring.
        std::string connect{};            ///< Server of the feed, which has no address of its own then.
        std::string ring_more{};          ///< Further keys of the ring, each with a comma in front.
        std::string metrics{"127.0.0.1:0"};
    };

    /// Returns when the gateway receives. Throws std::runtime_error with its output if it has ended.
    explicit GatewayRun(const Options& options);

    /// ADDRESS:PORT at which the feed is received.
    [[nodiscard]] std::string feed_address() const { return program_.word_after("feed 'f': listens on "); }
    /// Text of its output after `mark`, up to the next blank.
    [[nodiscard]] std::string word_after(const std::string& mark) const { return program_.word_after(mark); }
    [[nodiscard]] std::uint16_t tcp_port(const std::string& sink) const;
    /// Value of a metric without labels other than feed, ring or sink; -1 if there is none.
    [[nodiscard]] std::int64_t metric(std::string_view name) const;
    /// HTTP response, with its header, for a path at the metrics port.
    [[nodiscard]] std::string page(const std::string& path) const;
    [[nodiscard]] const std::string& ring() const noexcept { return ring_; }
    [[nodiscard]] Program& program() noexcept { return program_; }

    /// Stops the gateway and returns its output and exit code.
    Outcome end();

    /// Names below /dev/shm that belong to the ring.
    [[nodiscard]] std::vector<std::string> shared_names() const;

private:
    static std::vector<std::string> arguments(const Options& options, const std::string& ring);

    std::string ring_;
    Program program_;
};

/// A ring name that no other run uses.
std::string unique_ring(std::string_view what);

}  // namespace millpond::app
