// The replication protocol without sockets: frames, the primary's side and the standby's, step by step and at random.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/fix/file_store.hpp>

#include "src/engine/standby/replica_sink.hpp"
#include "src/engine/standby/replica_source.hpp"

namespace millpond::engine {
namespace {

using namespace replication;
using fix::FileStore;
using fix::StoreRole;
using ::testing::HasSubstr;

constexpr std::size_t kMaxMessage = 4096;
constexpr std::int64_t kCreated = 42;
const FileStore::Options kStore{.data_bytes = 1U << 20U};

/// Removes and returns the bytes that a queue has to send.
std::string drained(OutputQueue& queue, std::size_t at_most = std::string::npos) {
    const auto all = queue.copy();
    const auto bytes = std::min(all.size(), at_most);
    static_cast<void>(queue.written(bytes));
    return {all.data(), bytes};
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

/// A primary's store and a standby's in one folder, and the connection between them.
class Replication : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("millpond-replication-" + std::to_string(getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        open_primary();
        open_standby();
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void open_primary(const std::string& name = "primary", std::int64_t created = kCreated) {
        source_.reset();
        primary_.reset();
        primary_ = std::make_unique<FileStore>(folder_ / name, created, kStore);
        source_ = std::make_unique<ReplicaSource>(*primary_, to_standby_, "identity", "token");
    }
    void open_standby(const std::string& name = "standby") {
        sink_.reset();
        standby_.reset();
        standby_ = std::make_unique<FileStore>(folder_ / name, 7, kStore);
        EXPECT_TRUE(ReplicaSink::attach(*standby_));
        sink_ = std::make_unique<ReplicaSink>(*standby_, kMaxMessage);
        to_primary_.clear();
        at_standby_.clear();
        at_primary_.clear();
    }
    void send(const std::string& text) {
        ASSERT_TRUE(primary_->store(text));
        primary_->mark_written(primary_->next_sender() - 1);
    }
    /// Gives the standby three messages, and the number after a received message.
    void fill() {
        connect();
        settle();
        for (int i = 0; i < 3; ++i) send("x");
        receive();
        source_->publish(1);
        settle();
    }
    void receive() { primary_->set_next_target(primary_->next_target() + 1); }

    /// The connection is established, and the Hello in flight.
    void connect(bool is_whole = true) {
        to_primary_.clear();
        at_standby_.clear();
        at_primary_.clear();
        greeted_ = false;
        source_->greet(is_whole, 1);
    }
    /// Moves up to this many bytes in each direction. Returns whether any were moved.
    bool step(std::size_t most = std::string::npos) {
        source_->pump();
        at_standby_ += drained(to_standby_, most);
        const auto before = at_standby_.size();
        if (!greeted_) {
            const auto hello = read_frame(bytes_of(at_standby_), kMaxMessage);
            if (hello) {
                greeted_ = true;
                at_standby_.erase(0, hello->bytes);
                // The texts refer to memory that no longer exists: they are not compared.
                static_cast<void>(sink_->greet(std::get<Hello>(hello->frame), to_primary_));
            }
        } else {
            at_standby_.erase(0, sink_->receive(bytes_of(at_standby_), to_primary_));
        }
        at_primary_ += drained(to_primary_, most);
        const auto got = at_primary_.size();
        at_primary_.erase(0, source_->receive(bytes_of(at_primary_), 2));
        return before != 0 || got != 0;
    }
    /// Moves bytes until none are left.
    void settle() {
        while (step()) {
        }
    }
    void expect_same() {
        EXPECT_EQ(standby_->next_sender(), primary_->next_sender());
        EXPECT_EQ(standby_->next_target(), primary_->next_target());
        EXPECT_EQ(standby_->creation_utc_ns(), primary_->creation_utc_ns());
        for (std::uint64_t i = 1; i < primary_->next_sender(); ++i) {
            ASSERT_EQ(standby_->retrieve(i), primary_->retrieve(i)) << i;
        }
    }

    std::filesystem::path folder_;
    OutputQueue to_standby_{256, 64 * 1024};
    OutputQueue to_primary_{256, 16 * 1024};
    std::string at_standby_;
    std::string at_primary_;
    bool greeted_{false};
    std::unique_ptr<FileStore> primary_;
    std::unique_ptr<FileStore> standby_;
    std::unique_ptr<ReplicaSource> source_;
    std::unique_ptr<ReplicaSink> sink_;
};

TEST_F(Replication, EveryFrameIsReadAsItWasWrittenAndShortOnesAreIncomplete) {
    const Position position{1, 2, 3, 4, 5, 6};
    const std::vector<Frame> frames{Hello{kVersion, position, "who", "secret"},
                                    Welcome{kVersion, position},
                                    Refused{kVersion, Reason::superseded, 9, "text"},
                                    Begin{1, 2, 3, 1},
                                    Record{7, "8=FIX"},
                                    Reset{-5},
                                    Progress{1, 2, 3},
                                    Ack{11}};
    for (const auto& frame : frames) {
        OutputQueue queue{4, 8192};
        ASSERT_TRUE(write_frame(queue, frame));
        const auto text = drained(queue);
        for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
            const auto part = read_frame(bytes_of(text).first(bytes), 16);
            ASSERT_FALSE(part.has_value());
            EXPECT_EQ(part.error(), Fault::incomplete);
        }
        const auto read = read_frame(bytes_of(text), 16);
        ASSERT_TRUE(read.has_value()) << frame.index();
        EXPECT_EQ(read->bytes, text.size());
        EXPECT_EQ(read->frame.index(), frame.index());
        OutputQueue again{4, 8192};
        ASSERT_TRUE(write_frame(again, read->frame));
        EXPECT_EQ(drained(again), text);
    }
}

/// Bytes of the protocol: the layout must not change without a new version.
TEST_F(Replication, AnAckHasTheLayoutOfVersion2) {
    OutputQueue queue{4, 8192};
    ASSERT_TRUE(write_frame(queue, Ack{0x0102030405060708}));
    EXPECT_EQ(drained(queue), (std::string{"\x08\0\0\0\x08\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01", 16}));
    ASSERT_TRUE(write_frame(queue, Welcome{}));
    EXPECT_EQ(drained(queue).substr(8, 12), (std::string{"MPNSTBY1\x02\0\0\0", 12}));
}

TEST_F(Replication, NoiseNeverBecomesAFrameThatIsLongerThanAllowed) {
    std::mt19937 random{1};
    for (int i = 0; i < 20'000; ++i) {
        std::string noise(random() % 64, '\0');
        for (auto& c : noise) c = static_cast<char>(random());
        if (noise.size() >= 8 && i % 2 == 0) {
            std::memset(noise.data() + 1, 0, 3);
            noise[4] = static_cast<char>(random() % 10);
            std::memset(noise.data() + 5, 0, 3);
        }
        const auto read = read_frame(bytes_of(noise), 8);
        if (read) {
            EXPECT_LE(read->bytes, noise.size());
        }
    }
    const std::string huge{"\xff\xff\xff\x7f\x05\0\0\0", 8};
    ASSERT_FALSE(read_frame(bytes_of(huge), kMaxMessage).has_value());
    EXPECT_EQ(read_frame(bytes_of(huge), kMaxMessage).error(), Fault::too_long);
}

TEST_F(Replication, AnEmptyStandbyGetsEverythingAndAcknowledgesIt) {
    for (int i = 0; i < 300; ++i) send("message " + std::to_string(i));
    receive();
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::attached);
    EXPECT_EQ(source_->acked(), source_->serial());
    EXPECT_EQ(source_->behind(), 0U);
    expect_same();
    EXPECT_EQ(standby_->standby_state().role, StoreRole::replica);
}

TEST_F(Replication, LaterRecordsAreAcknowledgedByTheirSerial) {
    connect();
    settle();
    const auto before = source_->serial();
    send("one");
    receive();
    source_->publish(5);
    EXPECT_EQ(source_->serial(), before + 1);
    EXPECT_EQ(source_->waiting_since_ns(), 5);
    EXPECT_EQ(source_->behind(), 1U);
    settle();
    EXPECT_EQ(source_->acked(), before + 1);
    EXPECT_EQ(source_->waiting_since_ns(), 0);
    expect_same();
    source_->publish(6);  // nothing has changed
    EXPECT_EQ(source_->serial(), before + 1);
}

TEST_F(Replication, ALostConnectionContinuesWhereTheStandbyIs) {
    connect();
    settle();
    for (int i = 0; i < 50; ++i) send("message " + std::to_string(i));
    source_->publish(1);
    for (int i = 0; i < 8; ++i) step(100);
    source_->disconnect();
    const auto has = standby_->next_sender();
    EXPECT_GT(has, 1U);
    EXPECT_LT(has, 51U);
    open_standby();  // a restart of the process too
    connect();
    settle();
    EXPECT_EQ(sink_->records(), 51 - has);  // each record once
    expect_same();
}

TEST_F(Replication, AResetReachesTheStandbyAlsoWhileItIsAway) {
    connect();
    settle();
    send("old");
    source_->publish(1);
    settle();
    primary_->reset(100);
    send("new");
    source_->publish(1);
    settle();
    expect_same();
    EXPECT_EQ(source_->acked(), source_->serial());
    source_->disconnect();
    send("newer");
    primary_->reset(200);
    send("newest");
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::attached) << source_->failure();
    expect_same();
    EXPECT_EQ(standby_->retrieve(1), "newest");
}

TEST_F(Replication, NumbersThatAnOperatorSetsAreSetThereToo) {
    connect();
    settle();
    for (int i = 0; i < 10; ++i) send("x" + std::to_string(i));
    source_->publish(1);
    settle();
    primary_->set_next_sender(4);
    source_->publish(1);
    send("other");
    source_->publish(1);
    settle();
    expect_same();
    EXPECT_EQ(standby_->retrieve(4), "other");
    EXPECT_EQ(standby_->retrieve(5), std::nullopt);
    primary_->set_next_sender(100);
    primary_->set_next_target(33);
    source_->publish(1);
    send("behind the jump");
    source_->publish(1);
    settle();
    expect_same();
}

TEST_F(Replication, AStandbyThatIsAheadIsRefusedByName) {
    fill();
    // An older copy of the primary's disk was put back.
    const auto lineage = primary_->standby_state().lineage;
    open_primary("restored");
    auto standby_state = primary_->standby_state();
    standby_state.lineage = lineage;
    primary_->set_standby_state(standby_state);
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::refused);
    EXPECT_EQ(source_->failure(), "the standby is ahead: its next outgoing number is 4, ours is 1");
    primary_->set_next_sender(5);
    connect();
    settle();
    EXPECT_EQ(source_->failure(), "the standby is ahead: its next incoming number is 2, ours is 1");
    primary_->set_next_target(2);
    primary_->set_next_sender(1);
    for (int i = 0; i < 3; ++i) send("y");
    connect();
    settle();
    EXPECT_EQ(source_->failure(), "the standby has another message 3 than we have");
    EXPECT_EQ(standby_->retrieve(3), "x");
}

TEST_F(Replication, TheCopyOfAnotherStoreIsKeptWhateverThePrimarysEpochAndTime) {
    fill();
    for (const auto epoch : {0U, 1U}) {
        // The primary has a new disk, or a second primary connects.
        open_primary("new" + std::to_string(epoch), kCreated + 1);
        auto standby_state = primary_->standby_state();
        standby_state.epoch = epoch;
        primary_->set_standby_state(standby_state);
        connect();
        settle();
        EXPECT_EQ(source_->state(), ReplicaSource::State::refused);
        EXPECT_EQ(source_->failure(),
                  "the standby refuses: it holds the copy of another store than the primary's: its next numbers are 4 "
                  "and 2, the primary's 1 and 1; promote it, or remove its store");
        EXPECT_EQ(sink_->failure(), source_->failure().substr(std::string{"the standby refuses: "}.size()));
    }
    EXPECT_EQ(standby_->retrieve(3), "x");
    // An empty store has nothing to lose.
    open_standby("empty");
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::attached);
    expect_same();
}

TEST_F(Replication, APromotionRefusesTheOldPrimaryForGood) {
    connect();
    settle();
    send("x");
    source_->publish(1);
    settle();
    ReplicaSink::promote(*standby_);
    EXPECT_EQ(standby_->standby_state().role, StoreRole::promoted);
    EXPECT_EQ(standby_->standby_state().epoch, 1U);
    EXPECT_EQ(standby_->standby_state().epoch_first, 2U);
    source_->disconnect();
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::superseded);
    EXPECT_EQ(source_->superseded_by(), 1U);
    EXPECT_THAT(source_->failure(), HasSubstr("epoch 1"));
    EXPECT_FALSE(ReplicaSink::attach(*standby_)) << "it runs the session now";
}

TEST_F(Replication, APromotionDropsMessagesWithoutTheNumberThatTheyAnswer) {
    connect();
    settle();
    send("whole");
    receive();
    source_->publish(1);
    settle();
    // The Record of the next moment arrives, its Progress does not.
    send("half");
    receive();
    source_->publish(1);
    source_->pump();
    at_standby_ += drained(to_standby_);
    at_standby_.erase(at_standby_.size() - 32);
    static_cast<void>(sink_->receive(bytes_of(at_standby_), to_primary_));
    EXPECT_EQ(standby_->next_sender(), 3U);
    open_standby();  // a restart changes nothing
    ReplicaSink::promote(*standby_);
    EXPECT_EQ(standby_->next_sender(), 2U);
    EXPECT_EQ(standby_->next_target(), 2U);
    EXPECT_EQ(standby_->retrieve(2), std::nullopt);
}

TEST_F(Replication, TheOldPrimaryBecomesTheStandbyAndLosesMessagesThatOnlyItHad) {
    connect();
    settle();
    for (int i = 0; i < 4; ++i) send("x" + std::to_string(i));
    source_->publish(1);
    settle();
    send("only here");
    source_->disconnect();
    ReplicaSink::promote(*standby_);
    ASSERT_TRUE(standby_->store("after the promotion"));
    // Primary and standby swap roles.
    source_.reset();
    sink_.reset();
    std::swap(primary_, standby_);
    EXPECT_TRUE(ReplicaSink::attach(*standby_));
    EXPECT_EQ(standby_->standby_state().role, StoreRole::filling);
    source_ = std::make_unique<ReplicaSource>(*primary_, to_standby_, "identity", "");
    sink_ = std::make_unique<ReplicaSink>(*standby_, kMaxMessage);
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::attached) << source_->failure();
    EXPECT_EQ(sink_->records(), 1U);  // only the difference is sent
    EXPECT_EQ(sink_->consume_dropped(), 1U);
    EXPECT_EQ(sink_->consume_dropped(), 0U);
    expect_same();
    EXPECT_EQ(standby_->standby_state().epoch, 1U);
    EXPECT_EQ(standby_->standby_state().role, StoreRole::replica);
    EXPECT_EQ(standby_->retrieve(5), "after the promotion");
}

TEST_F(Replication, AStandbyThatMissedAnEpochIsFilledFromTheBeginning) {
    send("x");
    connect();
    settle();
    auto standby_state = primary_->standby_state();
    standby_state.epoch = 3;
    standby_state.epoch_first = 2;
    primary_->set_standby_state(standby_state);
    connect();
    settle();
    EXPECT_EQ(source_->state(), ReplicaSource::State::attached) << source_->failure();
    EXPECT_EQ(sink_->records(), 2U);  // the standby had the others before
    expect_same();
    EXPECT_EQ(standby_->standby_state().epoch, 3U);
}

TEST_F(Replication, AStandbyThatThePrimaryContinuedWithoutIsIncompleteUntilItIsFilled) {
    connect();
    settle();
    source_->disconnect();
    send("the counterparty has it");
    connect(false);
    step();
    step(60);
    EXPECT_EQ(standby_->standby_state().role, StoreRole::filling);
    settle();
    EXPECT_EQ(standby_->standby_state().role, StoreRole::replica);
    source_->disconnect();
    send("no one has it");
    connect(true);
    step();
    step(60);
    EXPECT_EQ(standby_->standby_state().role, StoreRole::replica);
}

TEST_F(Replication, FramesOutOfTheirTurnEndTheConnection) {
    const std::vector<Frame> wrong{Record{1, "x"}, Progress{1, 1, 1}, Reset{1}, Ack{1}, Welcome{}, Hello{}};
    for (const auto& frame : wrong) {
        sink_ = std::make_unique<ReplicaSink>(*standby_, kMaxMessage);
        ASSERT_TRUE(sink_->greet(Hello{}, to_primary_));
        OutputQueue queue{4, 8192};
        ASSERT_TRUE(write_frame(queue, frame));
        const auto text = drained(queue);
        static_cast<void>(sink_->receive(bytes_of(text), to_primary_));
        EXPECT_FALSE(sink_->failure().empty()) << frame.index();
        EXPECT_EQ(standby_->next_sender(), 1U);
    }
    for (const auto& frame : std::vector<Frame>{Record{1, "x"}, Ack{99}, Begin{}}) {
        connect();
        OutputQueue queue{4, 8192};
        ASSERT_TRUE(write_frame(queue, frame));
        const auto text = drained(queue);
        static_cast<void>(source_->receive(bytes_of(text), 1));
        EXPECT_NE(source_->state(), ReplicaSource::State::attached);
        EXPECT_EQ(source_->acked(), 0U);
    }
}

TEST_F(Replication, AnAckOfARecordThatWasNeverSentIsIgnored) {
    connect();
    settle();
    send("x");
    source_->publish(1);
    OutputQueue queue{4, 8192};
    ASSERT_TRUE(write_frame(queue, Ack{source_->serial() + 5}));
    const auto text = drained(queue);
    static_cast<void>(source_->receive(bytes_of(text), 1));
    EXPECT_LT(source_->acked(), source_->serial());
}

TEST_F(Replication, AnotherVersionIsNamed) {
    connect();
    OutputQueue queue{4, 8192};
    ASSERT_TRUE(write_frame(queue, Welcome{.version = kVersion + 1}));
    const auto text = drained(queue);
    static_cast<void>(source_->receive(bytes_of(text), 1));
    EXPECT_EQ(source_->state(), ReplicaSource::State::refused);
    EXPECT_EQ(source_->failure(), "the standby speaks version 3 of the replication protocol, we 2");
}

/// Random messages, numbers, resets, small steps, lost connections and restarts: every state that the standby has
/// acknowledged is at least the primary's state at that time.
TEST_F(Replication, UnderRandomFaultsAcknowledgedRecordsArePresent) {
    std::mt19937 random{7};
    struct Moment {
        std::uint64_t next_sender;
        std::uint64_t next_target;
        std::int64_t created;
        std::string newest;
    };
    std::map<std::uint64_t, Moment> moments;
    std::int64_t created = kCreated;
    connect();
    settle();
    for (int round = 0; round < 6'000; ++round) {
        switch (random() % 16) {
            case 0:
                source_->disconnect();
                connect(random() % 2 == 0);
                break;
            case 1:
                if (random() % 8 == 0) {
                    primary_->reset(++created);
                    source_->publish(round);
                }
                break;
            case 2:
                if (random() % 8 == 0) {
                    source_->disconnect();
                    const auto had = standby_->next_sender();
                    open_standby();
                    ASSERT_EQ(standby_->next_sender(), had);
                    connect();
                }
                break;
            case 3: receive(); break;
            case 4:
                if (random() % 8 == 0) primary_->set_next_sender(primary_->next_sender() + random() % 5);
                break;
            case 5:
            case 6:
                for (auto i = random() % 400; i != 0; --i) send("burst " + std::string(random() % 300, 'b'));
                break;
            case 7:
            case 8:
            case 9: send("message " + std::string(random() % 100, 'm')); break;
            default: step(random() % 2'000); break;
        }
        if (random() % 3 == 0) {
            source_->publish(round);
            moments[source_->serial()] = {primary_->next_sender(), primary_->next_target(), created,
                                          std::string{primary_->retrieve(primary_->next_sender() - 1).value_or("")}};
        }
        ASSERT_NE(source_->state(), ReplicaSource::State::refused) << source_->failure();
        const auto acked = moments.upper_bound(source_->acked());
        if (acked == moments.begin()) continue;
        const auto& [serial, moment] = *std::prev(acked);
        if (moment.created != standby_->creation_utc_ns()) continue;  // reset since
        ASSERT_GE(standby_->next_sender(), moment.next_sender) << round;
        ASSERT_GE(standby_->next_target(), moment.next_target) << round;
        if (!moment.newest.empty()) {
            ASSERT_EQ(standby_->retrieve(moment.next_sender - 1).value_or(""), moment.newest) << round;
        }
    }
    source_->publish(1);
    settle();
    EXPECT_EQ(standby_->next_sender(), primary_->next_sender());
    EXPECT_EQ(standby_->next_target(), primary_->next_target());
    for (auto i = primary_->next_kept(1); i < primary_->next_sender(); i = primary_->next_kept(i + 1)) {
        ASSERT_EQ(standby_->retrieve(i).value_or("gone"), *primary_->retrieve(i)) << i;
    }
}

TEST(OutputQueue, HeldOutputIsNeitherWrittenNorCopiedUntilItIsReleased) {
    OutputQueue queue{8, 64};
    ASSERT_TRUE(queue.add_copy("free"));
    for (const auto* text : {"one", "two"}) {
        ASSERT_TRUE(queue.add_copy(text));
        queue.hold_newest();
    }
    EXPECT_EQ(queue.held(), 2U);
    EXPECT_EQ(queue.held_bytes(), 6U);
    EXPECT_EQ(drained(queue), "free");
    EXPECT_FALSE(queue.is_ready());
    EXPECT_FALSE(queue.empty());
    queue.release(1);
    EXPECT_EQ(queue.held_bytes(), 3U);
    EXPECT_EQ(drained(queue), "one");
    queue.release(5);
    EXPECT_EQ(queue.held(), 0U);
    EXPECT_EQ(drained(queue), "two");
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace millpond::engine
