#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/endian.hpp>

namespace millpond::feed {

/// The file of that name in the folder of MILLPOND_TEST_DATA; empty if it is missing, so that the test skips.
[[nodiscard]] inline std::vector<std::byte> real_file(const std::string& name) {
    const char* const folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): never set here
    if (folder == nullptr) return {};
    std::ifstream file{std::string{folder} + "/" + name, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto bytes = std::as_bytes(std::span{text});
    return {bytes.begin(), bytes.end()};
}

struct CapturedDatagram {
    std::int64_t utc_ns;
    std::vector<std::byte> bytes;
};

/// The UDP datagrams of a little-endian capture, of nanoseconds or microseconds, of Ethernet frames with any number of
/// VLAN tags and IPv4.
[[nodiscard]] inline std::vector<CapturedDatagram> captured_datagrams(std::span<const std::byte> file) {
    const auto byte_at = [&](std::size_t at) { return static_cast<std::size_t>(file[at]); };
    const auto magic = file.size() < 24 ? 0 : core::load_le<std::uint32_t>(file.data());
    if (magic != 0xA1B2'3C4D && magic != 0xA1B2'C3D4) throw std::runtime_error("not a little-endian capture");
    const std::int64_t unit_ns = magic == 0xA1B2'C3D4 ? 1'000 : 1;
    std::vector<CapturedDatagram> datagrams;
    for (std::size_t record = 24; record + 16 <= file.size();) {
        const auto* const head = file.data() + record;
        const auto utc_ns = core::load_le<std::uint32_t>(head) * std::int64_t{1'000'000'000} +
                            core::load_le<std::uint32_t>(head + 4) * unit_ns;
        const auto frame = record + 16;
        record = frame + core::load_le<std::uint32_t>(head + 8);
        auto type_at = frame + 12;
        while (core::load_be<std::uint16_t>(file.data() + type_at) == 0x8100) type_at += 4;
        const auto udp = type_at + 2 + (byte_at(type_at + 2) & 0xF) * 4;
        const auto length = core::load_be<std::uint16_t>(file.data() + udp + 4);
        const auto payload = file.subspan(udp + 8, length - std::size_t{8});
        datagrams.push_back({utc_ns, {payload.begin(), payload.end()}});
    }
    return datagrams;
}

/// The messages of an ITCH file, each after its big-endian length; views into `file`.
[[nodiscard]] inline std::vector<std::span<const std::byte>> itch_messages(std::span<const std::byte> file) {
    std::vector<std::span<const std::byte>> messages;
    while (!file.empty()) {
        const std::size_t end = file.size() < 2 ? file.size() + 1 : 2U + core::load_be<std::uint16_t>(file.data());
        if (end > file.size()) throw std::runtime_error("an ITCH file that ends within a message");
        messages.push_back(file.subspan(2, end - 2));
        file = file.subspan(end);
    }
    return messages;
}

}  // namespace millpond::feed
