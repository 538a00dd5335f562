#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "gateway/sinks/tcp/tcp_sink.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "tests/gateway/json_lines/replay_recorder.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/market/depth_fixture.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::gateway::replay_test {

using market::DepthFeed;

inline constexpr std::uint32_t kDepth = 4;
inline constexpr std::int64_t kPatienceNs = 60'000'000'000;

struct Tcp {
    using Sink = tcp::TcpSink;
    using Settings = tcp::Settings;
    using Client = millpond::test::LineClient;
    static std::unique_ptr<Sink> make(const Settings& settings, const service::LogFunction& log) {
        return std::make_unique<Sink>(settings, ClientAccess{}, log);
    }
    static std::unique_ptr<Client> connect(std::uint16_t port, int receive_buffer) {
        return std::make_unique<Client>(port, receive_buffer);
    }
    static bool is_open(Client&) { return true; }
    static void send(Client& client, std::string_view request) { client.send_text(std::string{request} + "\n"); }
    static std::size_t bytes(const Client& client) { return client.text().size(); }
    /// Calls visit(line) for the lines from `seen` bytes on.
    template <class Visitor>
    static void read(Client& client, std::size_t& seen, Visitor&& visit) {
        const auto& text = client.text();
        for (auto end = text.find('\n', seen); end != std::string::npos; end = text.find('\n', seen)) {
            visit(std::string_view{text}.substr(seen, end - seen));
            seen = end + 1;
        }
    }
};

struct Web {
    using Sink = web::WebSink;
    using Settings = web::Settings;
    using Client = millpond::test::WebSocketClient;
    static std::unique_ptr<Sink> make(const Settings& settings, const service::LogFunction& log) {
        return std::make_unique<Sink>(settings, ClientAccess{}, http::Pages{}, log);
    }
    static std::unique_ptr<Client> connect(std::uint16_t port, int receive_buffer) {
        return std::make_unique<Client>(port, "", receive_buffer);
    }
    static bool is_open(Client& client) { return client.agreed(); }
    static void send(Client& client, std::string_view request) { client.send_text(request); }
    static std::size_t bytes(const Client& client) { return client.bytes(); }
    template <class Visitor>
    static void read(Client& client, std::size_t& seen, Visitor&& visit) {
        for (; seen < client.lines().size(); ++seen) visit(client.lines()[seen]);
    }
};

/// A sink on its ring and a client of it, run by the test.
template <class Kind>
class ReplayTest : public ::testing::Test {
protected:
    using Settings = typename Kind::Settings;

    struct Opened {
        std::unique_ptr<SinkThread> thread;
        typename Kind::Sink* sink;
        [[nodiscard]] std::uint16_t port() const { return thread->address().port(); }
        void round() const {
            sink->wait(std::chrono::nanoseconds{0});
            thread->round(core::monotonic_nanos());
        }
        [[nodiscard]] std::uint64_t metric(std::string_view wanted) const {
            std::uint64_t value = 0;
            thread->visit_metrics([&](std::string_view name, std::string_view, const core::Tally& tally) {
                if (name == wanted) value = tally.read();
            });
            return value;
        }
    };
    struct Client {
        std::unique_ptr<typename Kind::Client> socket;
        ReplayRecorder recorder;
        std::size_t seen{0};
        int requests{1};

        Client(std::uint16_t port, bool replays, int receive_buffer)
            : socket(Kind::connect(port, receive_buffer)), recorder(kDepth, replays) {}
        void send(std::string_view request) { Kind::send(*socket, request); }
        void receive() {
            socket->receive();
            Kind::read(*socket, seen, [this](std::string_view line) { recorder.add(line); });
        }
    };

    ~ReplayTest() override {
        sinks_.clear();
        journal_.reset();
        std::filesystem::remove_all(folder_);
    }

    void start_ring(std::uint64_t capacity, std::uint64_t seed = 1) {
        feed_.reset();
        ring_.reset();
        ring_ = market::deep_writer(name_, kDepth, capacity);
        market::name_instruments(*ring_, DepthFeed::kInstruments);
        feed_ = std::make_unique<DepthFeed>(*ring_, kDepth, seed);
        ends_.clear();
    }
    /// Publishes groups of different instruments.
    template <class Send>
    void publish(Send&& send) {
        send(*feed_);
        ends_.push_back(ring_->newest());
    }
    void publish() {
        publish([](DepthFeed& feed) { feed.publish(); });
    }
    void open_feed() {
        publish([](DepthFeed& feed) { feed.open(); });
    }
    void open_journal() {
        journal_.reset();
        journal_ = std::make_unique<SinkThread>(
            SinkThread::Options{.ring = name_, .name = "journal"},
            std::make_unique<journal::JournalSink>(
                "journal",
                millpond::journal::WriterOptions{.folder = folder_, .ring = name_, .segment_bytes = 1U << 20U}, log_),
            log_);
    }
    Opened& open_sink(const std::function<void(Settings&)>& change = {}) {
        const auto settings = test::settings_with<Settings>([&](Settings& s) {
            s.name = "sink";
            s.ring = name_;
            s.listen = net::SocketAddress::parse("127.0.0.1:0");
            s.mode = Delivery::every;
            s.journal = folder_;
            s.stall = std::chrono::hours{1};
            if (change) change(s);
        });
        auto sink = Kind::make(settings, log_);
        auto* const made = sink.get();
        return *sinks_.emplace_back(std::make_unique<Opened>(
            std::make_unique<SinkThread>(SinkThread::Options{.ring = name_, .name = "sink"}, std::move(sink), log_),
            made));
    }
    void close_sinks() { sinks_.clear(); }
    void journal_all() {
        while (journal_->round(core::monotonic_nanos()) != 0 || journal_->account().queued != 0) {
        }
    }

    [[nodiscard]] std::ptrdiff_t ended_segments() const {
        return std::ranges::count(millpond::journal::describe_segments(folder_), millpond::journal::SegmentState::ended,
                                  &millpond::journal::SegmentInfo::state);
    }

    static bool run_until(const std::vector<Opened*>& sinks, const std::vector<Client*>& clients,
                          const std::function<bool()>& done) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        for (;;) {
            for (const auto* sink : sinks) sink->round();
            for (auto* client : clients) client->receive();
            if (done()) return true;
            if (core::monotonic_nanos() > deadline) return false;
            std::this_thread::yield();
        }
    }
    /// Runs the sink until it has read the ring: a new client then gets little but what it requests.
    void catch_up(Opened& sink) {
        ASSERT_TRUE(run_until({&sink}, {}, [&] { return sink.thread->account().queued == 0; }));
    }
    /// A connected client whose first request has been answered.
    std::unique_ptr<Client> connect(Opened& sink, std::string_view request, bool replays = false,
                                    int receive_buffer = 0) {
        const auto accepted = sink.metric("clients_accepted_total");
        auto client = std::make_unique<Client>(sink.port(), replays, receive_buffer);
        EXPECT_TRUE(run_until({&sink}, {client.get()}, [&] {
            return sink.metric("clients_accepted_total") > accepted && Kind::is_open(*client->socket);
        }));
        client->send(request);
        return client;
    }
    std::unique_ptr<Client> witness(Opened& sink) {
        auto client = connect(sink, R"({"subscribe":["*"],"depth":4,"account":true})");
        EXPECT_TRUE(run_until({&sink}, {client.get()}, [&] { return !client->recorder.accounts.empty(); }));
        return client;
    }
    /// Runs the sink until the client has got everything; then its account adds up.
    void expect_account_closes(Opened& sink, Client& client) {
        const auto before = client.recorder.accounts.size();
        client.send(R"({"account":true})");
        ASSERT_TRUE(run_until({&sink}, {&client}, [&] { return client.recorder.accounts.size() > before; }));
        const auto& line = client.recorder.accounts.back();
        const auto part = [&](std::string_view key) { return number_in(line, key); };
        EXPECT_EQ(part("published"),
                  part("delivered") + part("filtered") + part("conflated") + part("missed") + part("queued"))
            << line;
        EXPECT_EQ(static_cast<std::uint64_t>(part("missed")),
                  client.recorder.missed_count() + client.recorder.missed_of_client + client.recorder.missed_before)
            << line;
    }
    /// Whether this was the book's newest complete state at that time.
    static bool has_state(const ReplayRecorder::Book& book, std::uint64_t now, const ReplayRecorder::State& state) {
        for (auto after = book.states.upper_bound(now); after != book.states.begin();) {
            --after;
            if (std::ranges::find(after->second, state) != after->second.end()) return true;
            if (std::ranges::any_of(after->second, &ReplayRecorder::State::complete)) return false;
        }
        return false;
    }
    /// Every event of the witness from the first one on is there, in its place and unchanged, unless it was lost; each
    /// book that is complete equals the witness's at that time. Returns the number of books compared.
    std::size_t expect_same(const ReplayRecorder& client, const ReplayRecorder& witness) const {
        return expect_same(client, witness, ends_);
    }
    /// ends: of what was published at once.
    static std::size_t expect_same(const ReplayRecorder& client, const ReplayRecorder& witness,
                                   const std::vector<std::uint64_t>& ends) {
        EXPECT_THAT(client.older, ::testing::IsEmpty());
        std::vector<std::pair<std::uint64_t, std::string>> expected;
        for (const auto& event : witness.events) {
            if (event.first >= client.first && !client.has_lost(event.first)) expected.push_back(event);
        }
        std::vector<std::pair<std::uint64_t, std::string>> got;
        for (const auto& event : client.events) {
            // The newest quotes and states of before the replay, or of a lost range, when it goes live.
            if (event.first >= client.first && !client.has_lost(event.first)) got.push_back(event);
        }
        const auto [at, other] = std::ranges::mismatch(got, expected);
        EXPECT_EQ(got.size(), expected.size());
        if (at != got.end() || other != expected.end()) {
            ADD_FAILURE() << "got " << (at == got.end() ? "nothing" : at->second) << "\ninstead of "
                          << (other == expected.end() ? "nothing" : other->second);
        }
        std::size_t compared = 0;
        for (const auto& [symbol, book] : client.books) {
            const auto known = witness.books.find(symbol);
            for (const auto& [now, states] : book.states) {
                for (const auto& state : states) {
                    if (!state.complete) continue;
                    ++compared;
                    // One of them may have got a snapshot, which has the number of the group's newest entry, where the
                    // other got a change: a book whose orders were incomplete before does not become so again.
                    const auto end = std::ranges::lower_bound(ends, now);
                    EXPECT_TRUE(known != witness.books.end() &&
                                has_state(known->second, end == ends.end() ? now : *end, state))
                        << "the book of " << symbol << " at " << now;
                }
            }
        }
        return compared;
    }

    std::string name_ = market::fresh_name();
    market::NameGuard guard_{name_};
    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} / ("millpond_replay_" + name_)};
    std::vector<std::string> said_;
    std::vector<std::string> warned_;  // those of `said_` that are warnings or errors
    service::LogFunction log_ = [this](service::Severity severity, std::string_view, const std::string& text) {
        said_.push_back(text);
        if (severity >= service::Severity::warning) warned_.push_back(text);
    };
    std::unique_ptr<market::RingWriter> ring_;
    std::unique_ptr<DepthFeed> feed_;
    std::vector<std::uint64_t> ends_;  // ring entries that end what was published at once
    std::unique_ptr<SinkThread> journal_;
    std::vector<std::unique_ptr<Opened>> sinks_;
    std::uint64_t value_{0};
};

class ReplayKindName {
public:
    template <class Kind>
    static std::string GetName(int) {
        return std::is_same_v<Kind, Tcp> ? "Tcp" : "Web";
    }
};
using ReplayKinds = ::testing::Types<Tcp, Web>;
inline constexpr std::string_view kFromTheStart = R"({"subscribe":["*"],"depth":4,"from":{"record":1}})";

}  // namespace millpond::gateway::replay_test
