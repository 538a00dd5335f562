#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <millpond/core/created_file.hpp>

#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::csv {

struct Options {
    std::string name{"csv"};
    std::string path{};
    Delivery mode{Delivery::every};
    std::uint64_t rotate_bytes{256ULL * 1024 * 1024};
    std::uint64_t keep{0};  ///< Renamed files to keep; the oldest is removed first; 0: all.
    std::chrono::nanoseconds flush{std::chrono::milliseconds{200}};
    mode_t file_mode{core::kFileMode};
};

}  // namespace millpond::gateway::csv
