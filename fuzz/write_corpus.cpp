// write_corpus FOLDER: writes seed inputs for the fuzz targets, one folder a target, from generated feeds. Each input
// is a few datagrams, each behind its little-endian u16 length.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/generated_feed.hpp>

namespace {

namespace feed = millpond::feed;

void append(std::string& input, std::span<const std::byte> datagram) {
    std::array<std::byte, 2> length;
    millpond::core::store_le(length.data(), static_cast<std::uint16_t>(datagram.size()));
    for (const auto bytes : {std::span<const std::byte>{length}, datagram}) {
        input.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
}

void write(const std::filesystem::path& folder, int number, std::string_view input) {
    std::filesystem::create_directories(folder);
    std::ofstream{folder / std::to_string(number), std::ios::binary} << input;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: write_corpus FOLDER\n", stderr);
        return 2;
    }
    const std::filesystem::path root{argv[1]};
    constexpr int kInputs = 16;
    for (const auto format :
         {feed::WireFormat::bbo28, feed::WireFormat::quotes, feed::WireFormat::miax_tom, feed::WireFormat::itch}) {
        for (int number = 0; number < kInputs; ++number) {
            feed::GeneratedFeed generated{{.format = format,
                                           .market = {.seed = static_cast<std::uint64_t>(number) + 1, .instruments = 4},
                                           .steps_per_datagram = 3}};
            std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
            std::string input;
            std::int64_t utc_ns = 1'700'000'000'000'000'000;
            for (int i = 0; i <= number; ++i) append(input, generated.next(buffer, utc_ns += 400'000'000));
            append(input, generated.heartbeat(buffer, utc_ns));
            write(root / feed::to_string(format), number, input);
        }
    }
    write(root / "product_names", 0, "# number, symbol\n1,AAPL\n2 MSFT\n");
    write(root / "quote_text", 0, std::string(200, 'A'));
}
