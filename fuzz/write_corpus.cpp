// write_corpus FOLDER: writes seed inputs for the fuzz targets, one folder per target, from generated feeds. Each input
// is a few datagrams, each after its little-endian u16 length.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/quotes_encoder.hpp>

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

/// A capture of one frame: these layers, in hexadecimal, around a datagram of four bytes from port 1 to port 2.
std::string capture(std::uint32_t link_type, std::string_view layers) {
    std::string file;
    const auto u32 = [&file](std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        millpond::core::store_le(bytes.data(), value);
        file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    std::string frame;
    for (const auto text : {layers, std::string_view{"00010002000c0000aabbccdd"}}) {
        for (std::size_t i = 0; i + 1 < text.size(); i += 2)
            frame += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
    }
    for (const std::uint32_t value : {0xA1B2C3D4U, 0x00040002U, 0U, 0U, 65'535U, link_type}) u32(value);
    const auto size = static_cast<std::uint32_t>(frame.size());
    for (const std::uint32_t value : {1U, 2U, size, size}) u32(value);
    return file + frame;
}

void write_captures(const std::filesystem::path& folder) {
    const std::string ipv4 =
        "450000200000000040110000"
        "0a000001"
        "e0000001";
    const std::string ipv6 =
        "60000000000c1140"
        "20010db8000000000000000000000001"
        "ff150000000000000000000000000002";
    const std::string hop_by_hop =
        "6000000000140040"
        "20010db8000000000000000000000001"
        "ff150000000000000000000000000002"
        "1100010400000000";
    write(folder, 0,
          capture(1,
                  "01005e000001000203040506"
                  "0800" +
                      ipv4));
    write(folder, 1,
          capture(1,
                  "01005e000001000203040506"
                  "88a800018100000286dd" +
                      ipv6));
    write(folder, 2, capture(113, "00000001000600020304050600000800" + ipv4));
    write(folder, 3, capture(276, "86dd000000000001000100060002030405060000" + ipv6));
    write(folder, 4, capture(101, hop_by_hop));
    write(folder, 5, capture(228, ipv4));
}

/// Frames after a byte for their kind of link: datagrams before trailers of switches, a keyframe, a fragment, a tunnel.
void write_links(const std::filesystem::path& folder) {
    const std::string ethernet = "01005e000001000203040506";
    const std::string ipv4 = "4500002000000000401100000a000001e0000001";
    const std::string udp = "00010002000c0000aabbccdd";
    const std::string keyframe =
        "450000520000000040fd0000010203046f6f6f6f000000b3de1ada62163dea7c9d4098f50000000000000000000000003bd4bb34"
        "0000000036645f8600000000000000000000000000000000037800250100";
    int number = 0;
    for (const auto& layers : {
             ethernet + "0800" + ipv4 + udp + "0a56d03e002f5b0c9a4d2b9fa023f400",
             ethernet + "0800" + ipv4 + udp + "d3d3d3d311111111800000615b0c9a4e075bcd1503000709" + "01020304",
             ethernet + "810000640800" + keyframe,
             ethernet + "0800" + keyframe,
             ethernet + "88b545584b4601000000140277c42335be00000000659a8613330000000014dc9380000000659a861333",
             ethernet + "0800" + "4500002000012001401100000a000001e0000001" + udp,
             ethernet + "8847000641ff" + ipv4 + udp,
         }) {
        std::string input(1, '\0');
        for (std::size_t i = 0; i + 1 < layers.size(); i += 2)
            input += static_cast<char>(std::stoi(layers.substr(i, 2), nullptr, 16));
        write(folder, number++, input);
    }
}

/// Datagrams of a feed on two lines, each after a byte that names its line: some are lost on one, some on both, and a
/// few of these come later from the server.
void write_lines(const std::filesystem::path& folder, int number) {
    feed::GeneratedFeed generated{{.format = feed::WireFormat::itch,
                                   .market = {.seed = static_cast<std::uint64_t>(number) + 1, .instruments = 4},
                                   .steps_per_datagram = 2}};
    std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes + 1> buffer;
    std::string input;
    std::string lost;
    std::int64_t utc_ns = 1'700'000'000'000'000'000;
    for (int i = 0; i < 12; ++i) {
        const auto datagram =
            generated.next(std::span{buffer}.subspan<1, feed::GeneratedFeed::kMaxDatagramBytes>(), utc_ns += 1'000'000);
        const auto fate = (i * 7 + number) % 6;
        for (const int line : {0, 1}) {
            buffer[0] = static_cast<std::byte>(line + 4 * fate);
            if (i == 0 || (fate != line && fate != 5)) append(input, std::span{buffer}.first(datagram.size() + 1));
        }
        buffer[0] = std::byte{2};
        if (fate == 5) append(lost, std::span{buffer}.first(datagram.size() + 1));
    }
    write(folder, number, input + lost);
}

/// `quotes` datagrams with levels, some of which are repeated.
void write_ladders(const std::filesystem::path& folder, int number) {
    feed::QuotesEncoder encoder{{.channel = 0, .session = 1, .depth = 3}};
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    const std::array<feed::QuotesEncoder::Level, 3> levels{{{3, 7, 1}, {2, 0, 0}, {1, 9, 2}}};
    const feed::Quote quote{.bid_price = 3, .bid_size = 7};
    std::string input;
    for (int i = 0; i <= number; ++i) {
        const bool all = (i + number) % 3 != 0;
        const auto bids = all ? std::span{levels}.first(1) : std::span<const feed::QuotesEncoder::Level>{levels};
        encoder.begin(buffer);
        static_cast<void>(encoder.add_entry({.quote = i % 2 == 0 ? &quote : nullptr,
                                             .bids = bids,
                                             .all_levels = all,
                                             .repeated = all && i % 3 == 0,
                                             .begins_cycle = i % 6 == 0},
                                            feed::Venue{"X"}, feed::Symbol{i % 2 == 0 ? "A" : "B"}));
        append(input, encoder.finish(1));
        if (i % 5 == 4) encoder.skip(1);
    }
    write(folder, number, input);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: write_corpus FOLDER\n", stderr);
        return 2;
    }
    const std::filesystem::path root{argv[1]};
    constexpr int kInputs = 16;
    for (const auto format : feed::kWireFormats) {
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
    for (int number = 0; number < kInputs; ++number) write_lines(root / "line_arbiter", number);
    for (int number = 0; number < kInputs; ++number) write_ladders(root / "quotes", kInputs + number);
    write_captures(root / "pcap");
    write_links(root / "link");
    using namespace std::string_view_literals;
    using namespace std::string_literals;
    write(root / "book", 0,
          "\0\0\0\0\0\0\0\0"sv
          "\3\1\0\0\1\2\0\5"sv
          "\5\0\1\1\1\2\2\5"sv
          "\5\1\4\1\1\1\1\5"sv);
    write(root / "soupbin", 0,
          "\0\4+abc"
          "\0\x1F"
          "A    DAY001                  41"
          "\0\4Sabc\0\1H\0\1S\0\1Z"sv);
    write(root / "soupbin", 1, "\0\2JA\0\0"sv);
    write(root / "iex_gap_fill", 0,
          "\1\1\4\x80\1\0\0\0\0\0\x87\x42\2\0\0\0"
          "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
          "\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"sv);
    // A start, a directory entry in a segment, and the end.
    const std::string_view segment =
        "\1\0\4\x80\1\0\0\0\1\0\0\0\x21\0\1\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x1f\0"
        "D\0\0\0\0\0\0\0\0\0ZIEXT   \x64\0\0\0\0\0\0\0\0\0\0\0\1"sv;
    write(root / "iex_snap", 0,
          "\x09\0s\x62\0\0\0\0\0\0\0\x4a\0d"s + std::string{segment} + "\x09\0x\4\0\0\0\0\0\0\0"s);
    write(root / "iex_snap", 1, "\2\0eQ"sv);
    write(root / "itch_file", 0, "\0\3abc\0\1d\0\0"sv);
    write(root / "product_names", 0, "# number, symbol\n1,AAPL\n2 MSFT\n");
    write(root / "fix_framing", 0, "8=FIX.4.4|9=5|35=0|10=163|8=FIX.4.49=5|8=FIXT.1.1|9=12|35=A|34=1|x=|10=000|");
    write(root / "fix_parse", 0, "34=2|49=A|56=B|11=A=B|44=10.50|60=20240102-03:04:05.678|95=3|96=a|b|58=x|");
    write(root / "fix_group", 0, "11=x|1=2|2=a|4=1|5=b|6=c|7=2|2=d|2=e|2=f|3=g|");
    write(root / "fix_session", 0,
          "D\x02|11=a|\nD\x04|11=b|\n1\x05|112=x|\n2\x06|7=1|16=0|\n4\x07|123=Y|36=12|\n5\x0c|\n");
    // Numbers at the limits of a session, and of 64 bits.
    int seed = 1;
    for (const std::string number :
         {"9007199254740991", "9007199254740992", "9223372036854775807", "18446744073709551615"}) {
        write(root / "fix_session", seed++,
              "2\x02|7=" + number + "|16=0|\n2\x03|7=1|16=" + number + "|\n4\x04|36=" + number +
                  "|123=Y|\nD\x05|11=a|\n");
        write(root / "fix_session", seed++,
              "D\x02|11=a|34=" + number + "|\nA\x01|98=0|108=" + number + "|141=Y|\nA\x02|98=0|108=30|789=" + number +
                  "|\n");
        write(root / "fix_session", seed++, "4\x02|36=" + number + "|\nD\x03|43=Y|122=16780101-00:00:00|11=a|\n");
    }
    // Several application versions in one session.
    write(root / "fix_session", seed++,
          "D\x02|1128=6|11=a|40=1|\nD\x03|1128=10|11=a|453=1|448=x|\nD\x04|1128=7|11=a|\nD\x05|1128=6|11=a|\n");
    write(root / "fix_session", seed++,
          "A\x01|98=0|108=30|141=Y|384=2|372=D|385=S|1130=10|1410=Y|372=F|1130=33|1137=6|\nD\x02|11=a|\nF\x03|11=a|\n");
    write(
        root / "fix_dictionary", 1,
        "<f:repository xmlns:f='http://fixprotocol.io/2020/orchestra/repository' version='FIX.Latest_EP303'>"
        "<f:codeSets><f:codeSet name='S' type='char'><f:code name='Buy' value='1'/></f:codeSet></f:codeSets><f:fields>"
        "<f:field id='54' name='Side' type='S'/><f:field id='453' name='NoPartyIDs' type='NumInGroup'/></f:fields>"
        "<f:components><f:component id='1' name='C'><f:groupRef id='2'/></f:component></f:components><f:groups>"
        "<f:group id='2' name='G'><f:numInGroup id='453'/><f:fieldRef id='54' "
        "presence='required'/></f:group></f:groups>"
        "<f:messages><f:message name='Order' msgType='D'><f:structure><f:componentRef id='1'/></f:structure>"
        "</f:message></f:messages></f:repository>");
    write(root / "fix_dictionary", 0,
          "<fix type='FIX' major='4' minor='4'><header><field name='B' required='Y'/></header><trailer/><messages>"
          "<message name='O' msgcat='app' msgtype='D'><component name='C' required='N'/></message></messages>"
          "<components><component name='C'><group name='N' required='N'><field name='B' required='Y'/></group>"
          "</component></components><fields><field number='8' name='B' type='STRING'><value enum='1'/></field>"
          "<field number='9' name='N' type='NUMINGROUP'/></fields></fix>");
    write(root / "quote_text", 0, std::string(200, 'A'));
}
