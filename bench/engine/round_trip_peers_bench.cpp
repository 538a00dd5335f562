// Measured:     from before a raw client writes an order until it has checked the report of the peer, one at a time,
//               over TCP on loopback. Client and peer have a processor each, on which all threads of the peer run; the
//               client spins. All peers keep sent messages in memory, if at all, and have no message dictionary. The
//               limit is a bare socket in the peer's place.
// Not measured: logon, several orders at a time, stores in files, logs.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/engine/bare_house.hpp"
#include "bench/engine/raw_desk.hpp"
#include "bench/engine/round_trip.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/rivals/free_port.hpp"
#ifdef MILLPOND_RIVAL_JVM_FIX
#include "bench/rivals/jvm_process.hpp"
#endif

namespace {

using namespace millpond;

bench::Finding trade_with(int port, std::size_t count) {
    bench::run_on(bench::two_cores().first);
    bench::RawDesk desk(port);
    return bench::round_trips(desk, count);
}

template <bool kSpins>
bench::Finding with_bare_socket(std::size_t count) {
    const bench::BareHouse<kSpins> house;
    return trade_with(house.port(), count);
}

template <core::Poll kPoll>
bench::Finding with_ours(std::size_t count) {
    const auto dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    bench::ReportingHouse house;
    engine::IoThread io{{.poll = kPoll}};
    engine::Acceptor acceptor{io, {}};
    acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK"},
                  .dictionary = &dictionary,
                  .store = {.bytes = 16U << 20U}},
                 house);
    bench::run_on(bench::two_cores().second);
    io.start();
    auto found = trade_with(acceptor.port(), count);
    io.stop();
    return found;
}

#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
bench::Finding with_quickfix(std::size_t count) {
    const auto port = bench::free_port();
    bench::run_on(bench::two_cores().second);
    const bench::QuickFixPeer house(
        {.initiates = false, .port = port, .sender = "HOUSE", .target = "DESK", .folder = "", .answers = true},
        nullptr);
    return trade_with(port, count);
}
#endif

#ifdef MILLPOND_RIVAL_JVM_FIX
/// A warmed-up acceptor in its own process: its code is compiled after a few thousand orders, later on a busy machine.
bench::Contender jvm_peer(const std::string& name, const std::string& kind, std::size_t count) {
    const auto port = bench::free_port();
    bench::run_on(bench::two_cores().second);
    const auto peer = std::make_shared<bench::JvmProcess>(
        MILLPOND_RIVAL_JAVA, MILLPOND_RIVAL_JVM_FIX,
        std::vector<std::string>{"-Xmx256m", "FixPeers", kind, std::to_string(port)});
    std::string said;
    int one = 0;
    peer->read(said, one);
    constexpr std::int64_t kWarmNanos = 4'000'000'000;
    for (const auto end = core::monotonic_nanos() + kWarmNanos; core::monotonic_nanos() < end;) {
        (void)trade_with(port, bench::scaled(2'000));
    }
    return {name, [peer, port, count] { return trade_with(port, count); }};
}
#endif

}  // namespace

int main() {
    const auto count = bench::scaled(600);  // on a busy machine an order takes milliseconds
    std::vector<bench::Contender> contenders{
        {"limit: bare socket, spinning", [count] { return with_bare_socket<true>(count); }},
        {"limit: bare socket, sleeping", [count] { return with_bare_socket<false>(count); }},
        {"millpond, spinning", [count] { return with_ours<core::Poll::spin>(count); }},
        {"millpond, sleeping", [count] { return with_ours<core::Poll::block>(count); }}};
    std::string missing;
    std::vector<bench::Goal> goals;
#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
    contenders.push_back({"QuickFIX, sleeping", [count] { return with_quickfix(count); }});
    goals.push_back({.contender = "millpond, sleeping", .to = "QuickFIX, sleeping", .at_most = 1.0});
#else
    missing += "; QuickFIX, which is not installed here";
#endif
#ifdef MILLPOND_RIVAL_JVM_FIX
    contenders.push_back(jvm_peer("QuickFIX/J (Java), sleeping", "quickfixj", count));
    contenders.push_back(jvm_peer("Philadelphia (Java), spinning", "philadelphia-spinning", count));
    contenders.push_back(jvm_peer("Philadelphia (Java), sleeping", "philadelphia-sleeping", count));
    for (const std::string waits : {"spinning", "sleeping"}) {
        goals.push_back({.contender = "millpond, " + waits, .to = "Philadelphia (Java), " + waits, .at_most = 1.0});
    }
    goals.push_back({.contender = "millpond, sleeping", .to = "QuickFIX/J (Java), sleeping", .at_most = 1.0});
#else
    missing += "; Philadelphia and QuickFIX/J, which are not installed here";
#endif
    bench::run_on({bench::two_cores().first, bench::two_cores().second});
    bench::compare(
        {.question = "How long does a FIX peer take for an order?",
         .unit = "us",
         .goals = goals,
         .measured =
             "NewOrderSingle to ExecutionReport between a raw client that spins and the peer, TCP on loopback, "
             "one at a time; the limit writes the order's id into a finished report; Java in a warm process of its "
             "own. Philadelphia keeps no sent messages and can resend none; the others do",
         .not_measured = "logon, several orders at a time, stores in files, logs" + missing},
        contenders);
}
