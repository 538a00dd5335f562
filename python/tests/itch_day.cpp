#include "itch_day.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <ios>
#include <system_error>

#include <millpond/core/endian.hpp>

#include "bench/feed/itch_input.hpp"

void write_itch_day(const std::string& path, std::uint32_t books, std::uint32_t live_each, std::uint64_t messages) {
    using namespace millpond;
    bench::OrderFlow flow{{.books = books, .live_each = live_each, .fill_first = true}};
    std::ofstream file(path, std::ios::binary);
    for (std::uint64_t i = 0; i < messages; ++i) {
        const auto message = flow.next();
        std::array<std::byte, 2> length;
        core::store_be(length.data(), static_cast<std::uint16_t>(message.size()));
        file.write(reinterpret_cast<const char*>(length.data()), length.size());
        file.write(reinterpret_cast<const char*>(message.data()), static_cast<std::streamsize>(message.size()));
    }
    file.close();
    if (!file) throw std::system_error(errno, std::generic_category(), "cannot write '" + path + "'");
}
