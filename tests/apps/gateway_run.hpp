#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/apps/program.hpp"

namespace millpond::app {

/// A gateway of its own for a test: one feed, a ring of that name, ports chosen by the kernel.
class GatewayRun {
public:
    struct Options {
        std::string ring;  ///< Made unlike that of any other run.
        std::string format{"miax-tom"};
        std::string feed{};               ///< Further keys of the feed, each with a comma in front.
        std::vector<std::string> more{};  ///< Further arguments.
        std::string huge_pages{"none"};   ///< For the ring.
        std::string ring_more{};          ///< Further keys of the ring, each with a comma in front.
    };

    /// Returns when it receives. Throws std::runtime_error with what it said when it ended instead.
    explicit GatewayRun(const Options& options);

    /// ADDRESS:PORT where its feed comes in.
    [[nodiscard]] std::string feed_address() const { return program_.word_behind("feed 'f': listens on "); }
    /// What it said behind `mark`, up to the next blank.
    [[nodiscard]] std::string said(const std::string& mark) const { return program_.word_behind(mark); }
    [[nodiscard]] std::uint16_t tcp_port(const std::string& sink) const;
    /// The value of a metric without labels other than feed, ring or sink; -1 when there is none.
    [[nodiscard]] std::int64_t metric(std::string_view name) const;
    /// The page of a path on its metrics port, with its head.
    [[nodiscard]] std::string page(const std::string& path) const;
    [[nodiscard]] const std::string& ring() const noexcept { return ring_; }
    [[nodiscard]] Program& program() noexcept { return program_; }

    /// Asks it to end, and gives how it did.
    Outcome end();

    /// Names under /dev/shm that belong to its ring.
    [[nodiscard]] std::vector<std::string> shared_names() const;

private:
    static std::vector<std::string> arguments(const Options& options, const std::string& ring);

    std::string ring_;
    Program program_;
};

/// Such a ring's name.
std::string unique_ring(std::string_view what);

}  // namespace millpond::app
