// Golden bytes worked out from the tables of "SoupBinTCP", version 3.00 of 22 February 2017, section 1.1, 2.2 and 2.3,
// which has no samples.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include <millpond/net/soupbin_packet.hpp>

namespace millpond::net::soupbin {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
template <std::size_t N>
std::string text_of(const std::array<std::byte, N>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), N};
}

// Table 2.3.1: length 47, user at 3, password at 9, session at 19, sequence number at 29.
constexpr std::string_view kLogin{
    "\x00\x2FL"
    "ALICE "
    "secret    "
    "    DAY001"
    "                  42",
    49};
// Table 2.2.1: length 31, session at 3, sequence number at 13.
constexpr std::string_view kAccepted{
    "\x00\x1F"
    "A"
    "    DAY001"
    "18446744073709551615",
    33};

TEST(SoupBinPacket, ALoginRequestHasTheBytesOfTheSpecification) {
    const LoginRequest login{.user = core::FixedString<6>{"ALICE"},
                             .password = core::FixedString<10>{"secret"},
                             .session = Session{"DAY001"},
                             .sequence = 42};
    std::array<std::byte, kLoginRequestBytes> packet;
    write(login, packet);
    EXPECT_EQ(text_of(packet), kLogin);
    const auto framed = next_packet(bytes_of(kLogin));
    ASSERT_TRUE(framed);
    EXPECT_EQ(framed->type, kLoginRequest);
    EXPECT_EQ(framed->bytes, kLogin.size());
    const auto read = read_login_request(framed->payload);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->user, login.user);
    EXPECT_EQ(read->password, login.password);
    EXPECT_EQ(read->session, login.session);
    EXPECT_EQ(read->sequence, 42U);
}

TEST(SoupBinPacket, AnAcceptedLoginHasTheBytesOfTheSpecification) {
    const LoginAccepted login{.session = Session{"DAY001"}, .sequence = std::numeric_limits<std::uint64_t>::max()};
    std::array<std::byte, kLoginAcceptedBytes> packet;
    write(login, packet);
    EXPECT_EQ(text_of(packet), kAccepted);
    const auto read = read_login_accepted(bytes_of(kAccepted).subspan(kHeaderBytes));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->session, login.session);
    EXPECT_EQ(read->sequence, login.sequence);
}

TEST(SoupBinPacket, PaddingMayBeOnEitherSide) {
    const auto read = read_login_accepted(bytes_of("DAY001    7                   "));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->session.view(), "DAY001");
    EXPECT_EQ(read->sequence, 7U);
}

TEST(SoupBinPacket, AnAcceptedLoginWithoutASessionOrANumberIsRefused) {
    for (const std::string_view payload : {
             "    DAY001                   0",   // numbers begin at 1
             "    DAY001                    ",   // no number
             "    DAY001                 1 2",   // two numbers
             "    DAY001                  -1",   //
             "    DAY00118446744073709551616",   // 2^64
             "                             1",   // no session
             "    DAY\t01                   1",  // a control character
             "    DAY001                  1",    // too short
             "    DAY001                   1 ",  // too long
         }) {
        EXPECT_FALSE(read_login_accepted(bytes_of(payload))) << payload;
    }
}

TEST(SoupBinPacket, APacketIsFoundOnceAllItsBytesAreThere) {
    constexpr std::string_view kSequencedData{"\x00\x04Sabc\x00\x01H", 9};
    for (std::size_t size = 0; size < 6; ++size) {
        const auto packet = next_packet(bytes_of(kSequencedData.substr(0, size)));
        ASSERT_FALSE(packet) << size;
        EXPECT_EQ(packet.error(), PacketError::incomplete) << size;
    }
    const auto data = next_packet(bytes_of(kSequencedData));
    ASSERT_TRUE(data);
    EXPECT_EQ(data->type, kSequenced);
    EXPECT_EQ(data->payload.size(), 3U);
    EXPECT_EQ(data->bytes, 6U);
    const auto heartbeat = next_packet(bytes_of(kSequencedData.substr(6)));
    ASSERT_TRUE(heartbeat);
    EXPECT_EQ(heartbeat->type, kServerHeartbeat);
    EXPECT_TRUE(heartbeat->payload.empty());
}

TEST(SoupBinPacket, ALengthOfZeroIsNoPacket) {
    const auto packet = next_packet(bytes_of(std::string_view{"\x00\x00S", 3}));
    ASSERT_FALSE(packet);
    EXPECT_EQ(packet.error(), PacketError::empty);
}

TEST(SoupBinPacket, BarePacketsHaveTheBytesOfTheSpecification) {
    EXPECT_EQ(text_of(bare_packet(kServerHeartbeat)), (std::string{"\x00\x01H", 3}));  // table 2.2.4
    EXPECT_EQ(text_of(bare_packet(kEndOfSession)), (std::string{"\x00\x01Z", 3}));     // table 2.2.5
    EXPECT_EQ(text_of(bare_packet(kClientHeartbeat)), (std::string{"\x00\x01R", 3}));  // table 2.3.3
    EXPECT_EQ(text_of(bare_packet(kLogout)), (std::string{"\x00\x01O", 3}));           // table 2.3.4
}

}  // namespace
}  // namespace millpond::net::soupbin
