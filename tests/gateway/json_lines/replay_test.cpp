#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
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

#include "gateway/json_lines/replay.hpp"
#include "gateway/json_lines/replay_reader.hpp"
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

namespace millpond::gateway {
namespace {

using market::DepthFeed;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint32_t kDepth = 4;
constexpr std::int64_t kPatienceNs = 60'000'000'000;

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
    service::LogFunction log_ = [this](service::Severity, std::string_view, const std::string& text) {
        said_.push_back(text);
    };
    std::unique_ptr<market::RingWriter> ring_;
    std::unique_ptr<DepthFeed> feed_;
    std::vector<std::uint64_t> ends_;  // ring entries that end what was published at once
    std::unique_ptr<SinkThread> journal_;
    std::vector<std::unique_ptr<Opened>> sinks_;
    std::uint64_t value_{0};
};

class KindName {
public:
    template <class Kind>
    static std::string GetName(int) {
        return std::is_same_v<Kind, Tcp> ? "Tcp" : "Web";
    }
};
using Kinds = ::testing::Types<Tcp, Web>;
TYPED_TEST_SUITE(ReplayTest, Kinds, KindName);

using ReplayReaderTest = ReplayTest<Tcp>;

TEST_F(ReplayReaderTest, APartIsShortAlsoAfterAGapThatConcernsManyBooks) {
    constexpr feed::InstrumentId kInstruments = 2'000;
    auto options = market::small_ring(name_);
    options.capacity = 1U << 14U;
    options.max_instruments = kInstruments;
    options.depth = kDepth;
    ring_ = std::make_unique<market::RingWriter>(options);
    ASSERT_TRUE(ring_->set_depth(0, {.depth = kDepth}));
    market::name_instruments(*ring_, kInstruments);
    open_journal();
    for (feed::InstrumentId id = 0; id < kInstruments; ++id) {
        feed::Level level;
        level.instrument = id;
        level.flags = feed::kSnapshot;
        ASSERT_TRUE(ring_->publish(level));
        level.side = feed::Side::bid;
        level.price = feed::kPriceScale;
        level.size = 1;
        ASSERT_TRUE(ring_->publish(level));
        auto quote = market::quote_of(id, 0, ++value_);
        quote.flags = feed::kLast;
        ASSERT_TRUE(ring_->publish(quote));
    }
    ASSERT_TRUE(ring_->publish(feed::Gap{.channel = 0, .first = ++value_}));
    journal_all();

    json_lines::WantedSymbols wanted;
    wanted.everything_depth = {.levels = kDepth};
    const auto replay = std::make_shared<json_lines::Replay>(json_lines::ReplayStart{.record = 1}, wanted);
    const json_lines::ReplayReader::From from{
        .journal = folder_, .ring = name_, .epoch = market::RingReader{{.name = name_}}.epoch()};
    json_lines::ReplayReader reader{from, replay};
    const auto newest = ring_->newest();
    replay->offer(newest);
    std::string text;
    std::size_t longest = 0;
    json_lines::ReplayPart part;
    while (!part.state) {
        static_cast<void>(reader.step(newest));
        while (!part.state && replay->try_pop(part)) {
            ASSERT_EQ(part.failure, "");
            longest = std::max(longest, part.text.size());
            text += part.text;
            const auto& account = part.account;
            EXPECT_EQ(account.published, account.delivered + account.filtered + account.conflated + account.queued);
        }
    }
    EXPECT_EQ(part.number, newest);
    EXPECT_EQ(part.account.queued, 0U);
    EXPECT_LT(longest, 150'000U);
    EXPECT_GT(text.size(), 1'000'000U);
    // Each book, and each quote after the gap.
    std::size_t incomplete = 0;
    const auto gap = text.find(R"("type":"gap")");
    ASSERT_NE(gap, std::string::npos);
    for (auto at = text.find(R"("type":"quote")", gap); at != std::string::npos;
         at = text.find(R"("type":"quote")", at + 1)) {
        ++incomplete;
    }
    EXPECT_EQ(incomplete, kInstruments);
}

constexpr std::string_view kFromTheStart = R"({"subscribe":["*"],"depth":4,"from":{"record":1}})";

TYPED_TEST(ReplayTest, AClientThatReplaysFromTheStartGetsWhatTheWitnessGotAndGoesLive) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    for (int i = 0; i < 800; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get()}, [] { return true; });
        if (i == 400) {  // rotation: a new session starts a new segment
            this->journal_all();
            this->publish([&](auto& feed) { feed.clear(0, feed::kNoInstrument, 0); });
        }
    }
    this->journal_all();
    EXPECT_GE(this->ended_segments(), 1);
    const auto late = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {witness.get(), late.get()}, [&] { return late->recorder.is_live; }));
    for (int i = 0; i < 200; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get(), late.get()}, [] { return true; });
    }
    ASSERT_TRUE(this->run_until({&sink}, {witness.get(), late.get()},
                                [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_EQ(late->recorder.first, 1U);
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    EXPECT_EQ(late->recorder.missed.size(), 0U);
    EXPECT_EQ(late->recorder.missed_of_client, 0U);
    this->expect_account_closes(sink, *late);
    EXPECT_EQ(sink.metric("replays"), 0U);
    EXPECT_EQ(sink.metric("replays_total"), 1U);
}

/// Journals, laps the ring, rotates, and lets clients come, be slow and go, at random.
TYPED_TEST(ReplayTest, AtRandomEveryReplayEqualsTheWitnessWithoutTheRangesReportedAsLost) {
    std::uint64_t compared = 0;
    std::uint64_t missed = 0;
    std::uint64_t live = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(seed);
        this->close_sinks();
        this->journal_.reset();
        std::filesystem::remove_all(this->folder_);
        std::mt19937_64 random{seed};
        const auto pick = [&](std::uint64_t bound) { return random() % bound; };
        const bool laps = seed % 2 == 0;
        this->start_ring(laps ? 512 : 1U << 14U, seed);
        this->open_journal();
        auto& witnessed = this->open_sink();
        auto& sink = this->open_sink();
        const auto witness = this->witness(witnessed);
        this->open_feed();
        std::vector<std::unique_ptr<typename TestFixture::Client>> clients;
        const auto is_replaying = [](const auto& client) {
            return client->recorder.lives < client->requests && client->recorder.errors.empty();
        };
        const auto from_anywhere = [&] {
            this->journal_all();
            std::uint64_t next = 1;
            for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
                next = std::max(next, segment.next_record);
            }
            return R"({"subscribe":["*"],"depth":4,"from":{"record":)" + std::to_string(1 + pick(next - 1)) + "}}";
        };
        for (int step = 0; step < 500; ++step) {
            for (auto groups = 1 + pick(4); groups != 0; --groups) {
                this->publish();
                this->run_until({&witnessed}, {witness.get()}, [] { return true; });
            }
            if (pick(4) != 0) this->journal_->round(core::monotonic_nanos());
            if (laps && pick(60) == 0) {  // the journal and the sink fall behind together, or one of them
                const auto which = pick(3);
                for (int i = 0; i < 200; ++i) {
                    this->publish();
                    this->run_until({&witnessed}, {witness.get()}, [] { return true; });
                    if (which == 0) this->journal_->round(core::monotonic_nanos());
                    if (which == 1) sink.round();
                }
            }
            if (pick(3) != 0) sink.round();
            if (step > 20 && std::ranges::count_if(clients, is_replaying) < 4 && pick(12) == 0) {
                if (!clients.empty() && pick(3) == 0 && !is_replaying(clients.front())) {
                    ++clients.front()->requests;
                    clients.front()->send(from_anywhere());
                } else {
                    clients.push_back(this->connect(sink, from_anywhere(), true, pick(2) == 0 ? 4'096 : 0));
                }
            }
            for (const auto& client : clients) {
                if (pick(3) != 0) client->receive();
            }
            if (!clients.empty() && pick(100) == 0) {
                clients[pick(clients.size())]->socket->leave();
            }
            std::erase_if(clients, [](const auto& client) {
                client->receive();
                return client->socket->over();
            });
        }
        this->journal_all();
        std::vector<typename TestFixture::Client*> all;
        for (const auto& client : clients) all.push_back(client.get());
        const auto has_all = [&](const typename TestFixture::Client* client) {
            return !client->recorder.errors.empty() ||
                   (client->recorder.lives == client->requests && !client->recorder.events.empty() &&
                    client->recorder.events.back().first >= witness->recorder.events.back().first);
        };
        ASSERT_TRUE(this->run_until({&sink}, all, [&] { return std::ranges::all_of(all, has_all); }));
        for (auto* client : all) {
            EXPECT_TRUE(client->recorder.errors.empty()) << client->recorder.errors.front();
            EXPECT_EQ(client->recorder.missed_of_client, 0U);
            compared += this->expect_same(client->recorder, witness->recorder);
            this->expect_account_closes(sink, *client);
            missed += client->recorder.missed_count();
            live += client->recorder.is_live ? 1U : 0U;
            ASSERT_FALSE(this->HasFailure());
        }
        EXPECT_EQ(sink.metric("replays"), 0U);
    }
    EXPECT_GT(compared, 1'000U);
    EXPECT_GT(missed, 100U);
    EXPECT_GT(live, 10U);
}

TYPED_TEST(ReplayTest, AReplayThatCannotReachAnOfferBeforeTheLogGoesOnGetsAnother) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& witnessed = this->open_sink();
    auto& sink = this->open_sink([](auto& s) { s.backlog = 64; });
    const auto witness = this->witness(witnessed);
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            this->run_until({&witnessed}, {witness.get()}, [] { return true; });
        }
        this->journal_all();
    };
    publish(300);
    const auto late = this->connect(sink, kFromTheStart, true);
    // Every round reads more than the log holds, so that the line that was offered before it is gone.
    for (int i = 0; i < 40 && !late->recorder.is_live; ++i) {
        publish(60);
        sink.round();
        late->receive();
    }
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    publish(5);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()},
                                [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_EQ(late->recorder.missed_of_client, 0U);
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, ASlowReplayDelaysNoLiveClientAndBuffersLittle) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    const auto witness = this->witness(sink);
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] { return true; }));
            if (i % 100 == 0) this->journal_all();
        }
        this->journal_all();
    };
    publish(4'000);
    const auto slow = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {}, [&] { return sink.metric("replays") == 1; }));
    // It reads nothing meanwhile; the live client gets every event.
    publish(4'000);
    ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] {
        return witness->recorder.events.back().first == this->ring_->newest() || sink.thread->account().queued == 0;
    }));
    EXPECT_EQ(witness->recorder.missed_of_client, 0U);
    EXPECT_EQ(sink.metric("replays"), 1U);
    EXPECT_FALSE(slow->recorder.is_live);
    ASSERT_TRUE(this->run_until({&sink}, {slow.get(), witness.get()}, [&] { return slow->recorder.is_live; }));
    publish(3);
    ASSERT_TRUE(this->run_until({&sink}, {slow.get(), witness.get()},
                                [&] { return slow->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_GT(this->expect_same(slow->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *slow);
}

TYPED_TEST(ReplayTest, OneReplayTooManyIsRefusedByNameUntilAnotherClientLeaves) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    this->open_feed();
    for (int i = 0; i < 8'000; ++i) {
        this->publish();
        if (i % 100 == 0) this->journal_all();
    }
    this->journal_all();
    this->catch_up(sink);
    std::vector<std::unique_ptr<typename TestFixture::Client>> clients;
    for (std::uint64_t i = 1; i <= 4; ++i) {  // none of them reads
        clients.push_back(this->connect(sink, kFromTheStart, true, 4'096));
        ASSERT_TRUE(this->run_until({&sink}, {}, [&] { return sink.metric("replays") == i; }));
    }
    const auto fifth = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {fifth.get()}, [&] { return !fifth->recorder.errors.empty(); }));
    EXPECT_THAT(fifth->recorder.errors.front(), HasSubstr("4 replays are in progress, of max_replays = 4"));
    EXPECT_EQ(sink.metric("replays_refused_total"), 1U);
    clients.front()->socket->leave();
    ASSERT_TRUE(this->run_until({&sink}, {fifth.get()}, [&] { return sink.metric("replays") == 3; }));
    fifth->send(kFromTheStart);
    ASSERT_TRUE(this->run_until({&sink}, {fifth.get()}, [&] { return fifth->recorder.is_live; }));
    EXPECT_EQ(fifth->recorder.first, 1U);
    // The sink stops while the others replay.
    EXPECT_EQ(sink.metric("replays"), 3U);
    this->close_sinks();
    for (const auto& client : clients) {
        if (client != clients.front()) client->receive();
    }
}

TYPED_TEST(ReplayTest, ASinkStopsInTheMiddleOfAReplay) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    this->open_feed();
    for (int i = 0; i < 4'000; ++i) {
        this->publish();
        if (i % 100 == 0) this->journal_all();
    }
    this->journal_all();
    this->catch_up(sink);
    const auto live = this->witness(sink);
    const auto client = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {live.get(), client.get()}, [&] { return client->recorder.has_begun(); }));
    sink.thread->start();
    sink.thread->stop();
    this->close_sinks();
    ASSERT_TRUE(this->run_until({}, {live.get(), client.get()},
                                [&] { return client->socket->over() && live->socket->over(); }));
    EXPECT_FALSE(client->recorder.is_live);
    // The replay takes no time from the others' last message.
    ASSERT_EQ(live->recorder.errors.size(), 1U);
    EXPECT_THAT(live->recorder.errors.front(), HasSubstr("the gateway is stopping"));
}

TYPED_TEST(ReplayTest, WhatTheJournalDoesNotHaveIsAPreciseError) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    auto& other = this->open_sink([](auto& s) {
        s.journal.clear();
        s.ring = "alone";
    });
    this->open_feed();
    for (int i = 0; i < 50; ++i) this->publish();
    const auto refusal = [&](auto& of, std::string_view from, std::string_view more = "") {
        const auto client =
            this->connect(of, R"({"subscribe":["S0"],)" + std::string{more} + R"("from":)" + std::string{from} + "}");
        EXPECT_TRUE(this->run_until({&of}, {client.get()}, [&] { return !client->recorder.errors.empty(); }));
        // It is a live client still, of everything.
        EXPECT_TRUE(this->run_until({&of}, {client.get()}, [&] {
            if (client->recorder.events.empty()) this->publish();
            return !client->recorder.events.empty();
        }));
        return client->recorder.errors.front();
    };
    this->journal_.reset();
    std::filesystem::remove_all(this->folder_);
    EXPECT_THAT(refusal(other, R"({"record":1})"), HasSubstr("ring 'alone' has no [[journal]]"));
    EXPECT_THAT(refusal(sink, R"({"record":1})"), HasSubstr("No such file"));
    this->open_journal();
    // The journal continues with what the ring has; then it has records 1 to N.
    this->journal_all();
    std::uint64_t next = 0;
    for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
        next = std::max(next, segment.next_record);
    }
    EXPECT_THAT(refusal(sink, R"({"record":99999999})"),
                HasSubstr("record 99999999 does not exist; the journal's newest is " + std::to_string(next - 1)));
    EXPECT_THAT(refusal(sink, R"("1969-12-31T23:59:59Z")"),
                HasSubstr("1969-12-31T23:59:59.000000000Z is before the journal's first event, of 1970-01-01T"));
    EXPECT_THAT(refusal(sink, R"("2260-01-01")"), HasSubstr("2260-01-01T00:00:00.000000000Z is in the future; it is "));
    EXPECT_THAT(refusal(sink, R"({"record":1})", R"("mode":"conflate",)"), HasSubstr("'from' needs the mode"));
    EXPECT_EQ(sink.metric("replays"), 0U);
}

TYPED_TEST(ReplayTest, ARequestDuringAReplayIsRefusedButForItsAccount) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    this->open_feed();
    for (int i = 0; i < 4'000; ++i) {
        this->publish();
        if (i % 100 == 0) this->journal_all();
    }
    this->journal_all();
    this->catch_up(sink);
    const auto client = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {}, [&] { return sink.metric("replays") == 1; }));
    // The replay has begun; most of it waits for the client.
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.has_begun(); }));
    for (const auto* request : {R"({"subscribe":["S1"]})", R"({"unsubscribe":["*"]})", R"({"mode":"conflate"})",
                                R"({"subscribe":["S1"],"from":{"record":2}})"}) {
        client->send(request);
    }
    client->send(R"({"account":true,"echo":7})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return !client->recorder.accounts.empty(); }));
    ASSERT_EQ(client->recorder.errors.size(), 4U);
    for (const auto& error : client->recorder.errors) EXPECT_THAT(error, HasSubstr("a replay is in progress"));
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.is_live; }));
    // The echo answers for what was published before it, so not before the replay is over.
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.echoes == 1; }));
    EXPECT_TRUE(client->recorder.echoed_live);
    client->send(R"({"unsubscribe":["*"],"account":true})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.accounts.size() == 2; }));
    EXPECT_EQ(client->recorder.errors.size(), 4U);
}

TYPED_TEST(ReplayTest, WhatARequestForAReplayIsAnsweredFollowsItsBegin) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    this->open_feed();
    for (int i = 0; i < 100; ++i) this->publish();
    this->journal_all();
    this->catch_up(sink);
    // An interval that does not end in this test: neither does it delay the replay.
    const auto client = this->connect(sink, R"({"interval_ms":60000,"account":true})", true);
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return !client->recorder.accounts.empty(); }));
    client->recorder.types.clear();
    client->send(R"({"subscribe":["S0","NONE"],"depth":4,"from":{"record":1},"echo":1})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.is_live; }));
    const auto& types = client->recorder.types;
    ASSERT_GT(types.size(), 3U);
    EXPECT_EQ(types[0], "\"replay\"");
    EXPECT_EQ(types[1], "\"unknown\"");
    const auto live = std::ranges::find(types, "\"live\"");
    EXPECT_EQ(std::count(types.begin(), live, "\"echo\""), 0);
    client->send(R"({"interval_ms":0})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.echoes == 1; }));
    EXPECT_TRUE(client->recorder.echoed_live);
}

TYPED_TEST(ReplayTest, WhileAReplayWaitsForTheJournalTheClientGetsNoLiveEvent) {
    this->start_ring(512);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->connect(sink, R"({"subscribe":["*"],"mode":"every","account":true})");
    ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] { return !witness->recorder.accounts.empty(); }));
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            this->run_until({&sink}, {witness.get()}, [] { return true; });
        }
    };
    publish(50);
    this->journal_all();
    publish(300);  // laps the journal, which lags
    // All events and no books: what the sink sends to many clients at once.
    const auto late = this->connect(sink, R"({"subscribe":["*"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return !late->recorder.events.empty(); }));
    for (int i = 0; i < 50; ++i) {
        publish(1);
        late->receive();
    }
    EXPECT_FALSE(late->recorder.is_live);
    EXPECT_LT(late->recorder.events.back().first, 50U * 10U);
    this->journal_all();
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()}, [&] { return late->recorder.is_live; }));
    publish(10);
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()},
                                [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_EQ(late->recorder.missed.size(), 1U);
    this->expect_same(late->recorder, witness->recorder);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, AClientMayReplayAgainOnceItIsLive) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            this->run_until({&sink}, {witness.get()}, [] { return true; });
        }
        this->journal_all();
    };
    publish(200);
    const auto late = this->connect(sink, kFromTheStart, true);
    for (int lives = 1; lives <= 3; ++lives) {
        ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.lives == lives; }));
        publish(20);
        ASSERT_TRUE(this->run_until({&sink}, {late.get()},
                                    [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
        EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 10U);
        this->expect_account_closes(sink, *late);
        late->send(lives == 1 ? R"({"subscribe":["*"],"depth":4,"from":{"record":300}})" : kFromTheStart);
    }
    EXPECT_TRUE(late->recorder.errors.empty());
}

TYPED_TEST(ReplayTest, SegmentsThatAreRemovedBeforeTheReplayReadsThemAreARangeThatItReportsAsMissed) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& witnessed = this->open_sink();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    const auto witness = this->witness(witnessed);
    this->open_feed();
    for (int segment = 0; segment < 3; ++segment) {
        for (int i = 0; i < 1'000; ++i) {
            this->publish();
            this->run_until({&witnessed}, {witness.get()}, [] { return true; });
        }
        this->journal_all();
        this->publish(
            [&](auto& feed) { feed.clear(0, feed::kNoInstrument, 0); });  // a new session, which starts a new segment
    }
    this->journal_all();
    this->catch_up(sink);
    ASSERT_GE(this->ended_segments(), 3);
    const auto late = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.has_begun(); }));
    // It reads nothing more meanwhile: the replay is in the first segment.
    for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
        if (segment.state == millpond::journal::SegmentState::ended) std::filesystem::remove(segment.file.path);
    }
    ASSERT_TRUE(this->run_until({&sink, &witnessed}, {late.get(), witness.get()},
                                [&] { return late->recorder.is_live || !late->recorder.errors.empty(); }));
    this->publish();
    ASSERT_TRUE(this->run_until({&sink, &witnessed}, {late.get(), witness.get()}, [&] {
        return late->recorder.events.back().first == witness->recorder.events.back().first &&
               witnessed.thread->account().queued == 0;
    }));
    EXPECT_GE(late->recorder.missed.size(), 1U);  // it may read on between two removals
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, OnlyTheSubscribedInstrumentsAreReplayed) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto of_one = [](const ReplayRecorder& recorder) {
        std::vector<std::pair<std::uint64_t, std::string>> events;
        for (const auto& event : recorder.events) {
            const auto symbol = text_in(event.second, "symbol");
            if (symbol.empty() || symbol == "null" || symbol == "\"S1\"") events.push_back(event);
        }
        return events;
    };
    const auto witness = this->witness(sink);
    this->open_feed();
    for (int i = 0; i < 500; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get()}, [] { return true; });
    }
    this->journal_all();
    const auto late = this->connect(sink, R"({"subscribe":["S1"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    for (int i = 0; i < 100; ++i) this->publish();
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()}, [&] {
        return of_one(late->recorder) == of_one(witness->recorder) && sink.thread->account().queued == 0;
    }));
    EXPECT_EQ(late->recorder.events.size(), of_one(late->recorder).size());
    EXPECT_TRUE(late->recorder.books.empty());
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, AnEarlierRunOfTheGatewayIsReplayedTooAndTheNextOneBegins) {
    this->start_ring(1U << 14U, 5);
    this->open_journal();
    ReplayRecorder first{kDepth};
    std::vector<std::uint64_t> ends_of_first;
    {
        auto& sink = this->open_sink();
        const auto witness = this->witness(sink);
        this->open_feed();
        for (int i = 0; i < 300; ++i) {
            this->publish();
            this->run_until({&sink}, {witness.get()}, [] { return true; });
        }
        first = witness->recorder;
        ends_of_first = this->ends_;
    }
    const auto last_of_first = this->ring_->newest();
    this->journal_all();
    this->close_sinks();
    this->journal_.reset();
    this->start_ring(1U << 14U, 6);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    for (int i = 0; i < 300; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get()}, [] { return true; });
    }
    this->journal_all();
    const auto late = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    ASSERT_EQ(late->recorder.earlier.size(), 1U);
    EXPECT_EQ(late->recorder.last_of_earlier, last_of_first);
    EXPECT_GT(this->expect_same(late->recorder.earlier.front(), first, ends_of_first), 50U);
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, ATimeBeginsWithItsFirstEventAlsoIfThatIsYetToCome) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    constexpr std::int64_t kNoon = 1'764'504'000 * kSecond;  // 2025-11-30T12:00:00Z
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto publish = [&](std::int64_t receive_utc_ns) {
        auto quote = market::quote_of(0, 0, ++this->value_);
        quote.receive_utc_ns = receive_utc_ns;
        quote.flags = feed::kLast;  // readers see a group when it ends
        ASSERT_TRUE(this->ring_->publish(quote));
    };
    for (int i = 0; i < 10; ++i) publish(kNoon + i * kSecond);
    this->journal_all();
    const auto within = this->connect(sink, R"({"subscribe":["S0"],"from":"2025-11-30T12:00:07Z"})", true);
    const auto after = this->connect(sink, R"({"subscribe":["S0"],"from":"2025-11-30T12:00:09.000000001Z"})", true);
    ASSERT_TRUE(this->run_until({&sink}, {within.get(), after.get()},
                                [&] { return within->recorder.is_live && after->recorder.is_live; }));
    EXPECT_EQ(within->recorder.events.size(), 3U);
    // What it knows of the quote comes from the board.
    EXPECT_EQ(after->recorder.events.size(), 1U);
    publish(kNoon + 60 * kSecond);
    ASSERT_TRUE(this->run_until({&sink}, {within.get(), after.get()}, [&] {
        return within->recorder.events.size() == 4 && after->recorder.events.size() == 2;
    }));
    EXPECT_EQ(within->recorder.events.back(), after->recorder.events.back());
}

TYPED_TEST(ReplayTest, AQuoteThatTheSinkHasAsIncompleteIsIncompleteForTheClientToo) {
    this->start_ring(64);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto publish = [&](feed::InstrumentId id) {
        auto quote = market::quote_of(id, 0, ++this->value_);
        quote.flags = feed::kLast;
        ASSERT_TRUE(this->ring_->publish(quote));
    };
    publish(0);
    sink.round();
    for (int i = 0; i < 200; ++i) {  // laps the sink, not the journal
        publish(2);
        this->journal_all();
    }
    const auto late = this->connect(sink, R"({"subscribe":["S0"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    publish(2);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.incomplete_quotes == 1; }));
    EXPECT_EQ(late->recorder.events.size(), 1U);
    EXPECT_EQ(late->recorder.missed.size(), 0U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, AtLiveTheNewestStatesAndQuotesCountAlsoIfTheSinkLacksThem) {
    this->start_ring(64);
    this->open_journal();
    auto& sink = this->open_sink();
    sink.round();
    const auto state = [&](feed::InstrumentId id, feed::TradingState to) {
        feed::Status status;
        status.instrument = id;
        status.state = to;
        status.feed_sequence = ++this->value_;
        ASSERT_TRUE(this->ring_->publish(status));
    };
    const auto quote = [&](feed::InstrumentId id) {
        auto one = market::quote_of(id, 0, ++this->value_);
        one.flags = feed::kLast;
        EXPECT_TRUE(this->ring_->publish(one));
        return this->ring_->newest();
    };
    quote(0);
    quote(1);
    state(0, feed::TradingState::halted);
    state(feed::kNoInstrument, feed::TradingState::halted);
    this->journal_all();
    // The journal misses these, and the sink does not.
    const auto only_in_sink = quote(1);
    state(1, feed::TradingState::halted);
    for (int i = 0; i < 100; ++i) {
        quote(2);
        sink.round();
    }
    this->journal_all();
    // The sink misses these, and the journal does not.
    const auto only_in_journal = quote(0);
    const auto unknown_to_sink = quote(3);
    state(0, feed::TradingState::trading);
    state(feed::kNoInstrument, feed::TradingState::trading);
    for (int i = 0; i < 200; ++i) {
        this->journal_all();
        quote(2);
    }
    this->journal_all();
    const auto late = this->connect(sink, R"({"subscribe":["S0","S1","S3"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    late->send(R"({"echo":1})");
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.echoes == 1; }));
    EXPECT_THAT(late->recorder.older, ::testing::IsEmpty());
    const auto newest = [&](const char* key) { return late->recorder.newest[key]; };
    const auto is = [](std::uint64_t number) { return HasSubstr("\"sequence\":" + std::to_string(number) + ","); };
    EXPECT_THAT(newest("\"status\"\"S0\""), HasSubstr("trading"));
    EXPECT_THAT(newest("\"status\"0"), HasSubstr("trading"));
    EXPECT_THAT(newest("\"status\"\"S1\""), HasSubstr("halted"));
    // The next gap sends none of these again.
    EXPECT_THAT(newest("\"quote\"\"S0\""), AllOf(is(only_in_journal), HasSubstr("\"incomplete\":true")));
    EXPECT_THAT(newest("\"quote\"\"S1\""), AllOf(is(only_in_sink), HasSubstr("\"incomplete\":true")));
    EXPECT_THAT(newest("\"quote\"\"S3\""), AllOf(is(unknown_to_sink), HasSubstr("\"incomplete\":true")));
    this->expect_account_closes(sink, *late);
}

/// Passes a ring's events to a sink as SinkThread does.
template <class Sink>
struct Feeder {
    Sink& sink;
    market::RingReader& ring;
    feed::InstrumentId named{0};
    bool joins{true};

    template <class Event>
    void on(const Event& event) {
        if constexpr (requires { event.instrument; }) {
            for (; event.instrument != feed::kNoInstrument && named <= event.instrument; ++named) {
                const auto* const instrument = ring.instrument(named);
                sink.name(named, instrument->venue, instrument->symbol, instrument->decimals);
            }
        }
        if (!joins) {
            sink.on(event, ring.current());
        } else if constexpr (requires { sink.board(event, 1U); }) {
            sink.board(event, ring.account().since - 1);
        }
    }
    void on(const queue::MissedRange& missed) { sink.missed(missed.first, missed.last); }
};

TYPED_TEST(ReplayTest, WhatTheBoardHadBeforeTheSinkReadItIsReplayed) {
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& witnessed = this->open_sink();
    const auto witness = this->witness(witnessed);
    this->open_feed();
    for (int i = 0; i < 100; ++i) {
        this->publish();
        this->run_until({&witnessed}, {witness.get()}, [] { return true; });
    }
    for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id)
        this->publish([&](auto& feed) { feed.send_snapshot(id); });

    auto settings = test::settings_with<typename TypeParam::Settings>([&](auto& s) {
        s.name = "sink";
        s.ring = this->name_;
        s.listen = net::SocketAddress::parse("127.0.0.1:0");
        s.mode = Delivery::every;
        s.journal = this->folder_;
    });
    const auto sink = TypeParam::make(settings, this->log_);
    market::RingReader ring{{.name = this->name_}};
    sink->open(ring);
    Feeder<typename TypeParam::Sink> feeder{*sink, ring};
    // Changes of the last instrument while the sink copies the board: its levels include them.
    int steps = 0;
    ring.join(feeder, [&] {
        if (++steps == 3) {
            for (int i = 0; i < 20; ++i) {
                this->publish([&](auto& feed) { feed.send_change(DepthFeed::kInstruments - 1); });
                this->run_until({&witnessed}, {witness.get()}, [] { return true; });
            }
        }
    });
    feeder.joins = false;
    this->journal_all();
    const auto round = [&] {
        while (ring.poll(feeder, 64) != 0) {
        }
        sink->wait(std::chrono::nanoseconds{0});
        sink->step(core::monotonic_nanos());
        this->run_until({&witnessed}, {witness.get()}, [] { return true; });
    };
    typename TestFixture::Client late{sink->address().port(), true, 0};
    const auto run_until = [&](const auto& done) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (!done() && core::monotonic_nanos() < deadline) {
            round();
            late.receive();
        }
        return done();
    };
    ASSERT_TRUE(run_until([&] { return TypeParam::is_open(*late.socket); }));
    late.send(kFromTheStart);
    ASSERT_TRUE(run_until([&] { return late.recorder.is_live; }));
    for (int i = 0; i < 60; ++i) {
        this->publish([&](auto& feed) { feed.send_change(DepthFeed::kInstruments - 1); });
        round();
    }
    ASSERT_TRUE(run_until([&] { return late.recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_GT(this->expect_same(late.recorder, witness->recorder), 50U);
}

TYPED_TEST(ReplayTest, BooksOfOrdersAreReplayedInTheOrderOfTheirPriority) {
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->connect(sink, R"({"subscribe":["S0"],"orders":true,"account":true})");
    ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] { return !witness->recorder.accounts.empty(); }));
    this->open_feed();
    std::mt19937_64 random{3};
    std::vector<feed::Order> live;
    const auto step = [&] {
        feed::Order order;
        order.instrument = 0;
        if (live.size() < 5 || random() % 2 == 0) {
            order.order_id = ++this->value_;
            order.side = random() % 2 == 0 ? feed::Side::bid : feed::Side::ask;
            order.price = (order.side == feed::Side::bid ? 100 : 101) * feed::kPriceScale;
            order.size = order.size_left = 1 + random() % 9;
            live.push_back(order);
        } else {
            const auto at = random() % live.size();
            order = live[at];
            order.action = feed::OrderAction::cancel;
            order.size = order.size_left;
            order.size_left = 0;
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        }
        order.flags = feed::kLast;
        ASSERT_TRUE(this->ring_->publish(order));
        this->run_until({&sink}, {witness.get()}, [] { return true; });
    };
    for (int i = 0; i < 200; ++i) step();
    this->journal_all();
    const auto whole = this->connect(sink, R"({"subscribe":["S0"],"orders":true,"from":{"record":1}})", true);
    const auto part = this->connect(sink, R"({"subscribe":["S0"],"orders":true,"from":{"record":150}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {whole.get(), part.get()},
                                [&] { return whole->recorder.is_live && part->recorder.is_live; }));
    // Half of the orders are unknown to a replay from the middle: its book is complete only with that of the sink.
    EXPECT_EQ(std::ranges::count_if(part->recorder.books.at("\"S0\"").states,
                                    [](const auto& one) { return one.second.back().complete; }),
              1);
    for (int i = 0; i < 50; ++i) step();
    ASSERT_TRUE(this->run_until({&sink}, {whole.get(), part.get()}, [&] {
        const auto newest = [](const auto& client) {
            const auto& [now, states] = *client->recorder.books.at("\"S0\"").states.rbegin();
            return std::pair{now, states.back()};
        };
        return newest(whole) == newest(witness) && newest(part) == newest(witness);
    }));
    EXPECT_GT(this->expect_same(whole->recorder, witness->recorder), 40U);
    EXPECT_GT(this->expect_same(part->recorder, witness->recorder), 40U);
}

}  // namespace
}  // namespace millpond::gateway
