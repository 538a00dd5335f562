// The SNAP server beside a replay: what it answers, byte for byte, to requests for any number.

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/socket.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_snap.hpp>

#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/iex_snap_server.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/iex_session.hpp"

namespace millpond::app {
namespace {

using feed::WireFormat;
using Bytes = std::vector<std::byte>;

/// The server's answer: an error, or the response of the length that its start says.
Bytes answer_of(traffic::IexSnapServer& server, const feed::IexSession& session) {
    namespace at = feed::iex_snap;
    const core::Descriptor client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_storage address{};
    const auto length = server.address().to_kernel(address);
    if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
    const auto request = feed::IexSnapRequest{.token = "token", .session = session}.bytes();
    if (::send(client.get(), request.data(), request.size(), 0) != static_cast<ssize_t>(request.size())) return {};
    Bytes answer;
    const auto size = [&]() -> std::size_t {
        if (answer.size() < at::kStartBytes) return at::kStartBytes;
        return core::load_le<std::uint64_t>(answer.data() + at::kBodyAt);
    };
    const auto is_error = [&] { return answer.size() == at::kErrorBytes && answer[at::kTypeAt] == std::byte{'e'}; };
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (answer.size() < size() && !is_error() && core::monotonic_nanos() < deadline) {
        server.poll(1);
        std::array<std::byte, 65'536> bytes;
        const auto got = ::recv(client.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got > 0) answer.insert(answer.end(), bytes.begin(), bytes.begin() + got);
    }
    return answer;
}

Bytes first_answer_of(const traffic::IexHistory& history, const feed::IexSession& session) {
    traffic::IexSnapServer server{any_port(), history};
    return answer_of(server, session);
}

void add(traffic::IexHistory& history, const IexSession& day, std::size_t first, std::size_t last) {
    for (auto i = first; i < last; ++i) history.add(day.bytes[i]);
}

TEST(SnapServer, HasNoSnapshotOfACaptureThatLacksItsBeginning) {
    const IexSession day{WireFormat::iex_deep, 20};
    const auto answer = [&](std::size_t from, std::size_t lost) {
        traffic::IexHistory history;
        for (auto i = from; i < day.bytes.size(); ++i) {
            if (i != lost) history.add(day.bytes[i]);
        }
        return static_cast<char>(first_answer_of(history, day.session).at(feed::iex_snap::kTypeAt));
    };
    EXPECT_EQ(answer(0, 100), 's');
    EXPECT_EQ(answer(5, 100), 'e');
    EXPECT_EQ(answer(0, 0), 'e');
}

TEST(SnapServer, FeedsOfOneChannelAndSessionHaveStatesOfTheirOwn) {
    const IexSession deep{WireFormat::iex_deep, 20};
    const IexSession plus{WireFormat::iex_deep_plus, 40};
    ASSERT_EQ(deep.session, plus.session);
    traffic::IexHistory history;
    traffic::IexSnapServer server{any_port(), history};
    add(history, deep, 0, deep.bytes.size());
    const auto of_deep = answer_of(server, deep.session);
    ASSERT_GT(of_deep.size(), feed::iex_snap::kErrorBytes);
    add(history, plus, 0, plus.bytes.size());
    const auto of_plus = answer_of(server, plus.session);
    EXPECT_NE(of_plus, of_deep);
    EXPECT_EQ(of_plus, first_answer_of(history, plus.session));
}

TEST(SnapServer, BeginsAgainWithTheCapture) {
    const IexSession day{WireFormat::iex_deep, 40};
    traffic::IexHistory history;
    traffic::IexSnapServer server{any_port(), history};
    add(history, day, 0, 40);
    const auto whole = answer_of(server, day.session);
    history.restart();
    EXPECT_EQ(answer_of(server, day.session).size(), feed::iex_snap::kErrorBytes) << "nothing was sent yet";
    add(history, day, 0, 10);
    const auto part = answer_of(server, day.session);
    EXPECT_LT(part.size(), whole.size());
    EXPECT_EQ(part, first_answer_of(history, day.session));
    add(history, day, 10, 40);
    EXPECT_EQ(answer_of(server, day.session), whole);
}

}  // namespace
}  // namespace millpond::app
