// Every order of a reader's loads and a writer's stores, executed on one thread.

#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/broadcast_writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/queue/broadcast_fixture.hpp"

namespace millpond::queue {
namespace {

constexpr std::uint64_t kCapacity = 2;

struct CallStep {
    std::function<void()>* call;
    void operator()() const { (*call)(); }
};

/// One store to a shared word.
struct Store {
    std::size_t word;
    std::uint64_t value;
};

/// A ring, and the stores by which the writer publishes its next entry, in order.
struct Scene {
    RingMemory memory;
    std::vector<Store> stores;
};

std::vector<std::uint64_t> values_of(RingMemory& memory) {
    std::vector<std::uint64_t> values;
    for (const auto& word : memory.words()) values.push_back(word.load());
    return values;
}

/// Publishes `before` entries, then records the stores of the next one.
Scene record_publish(std::uint64_t before) {
    RingMemory memory{kCapacity};
    std::function<void()> on_step = [] {};
    auto writer =
        BasicBroadcastWriter<CallStep>::create(memory.bytes(), kCapacity, kContent, kEpoch, CallStep{&on_step});
    for (std::uint64_t i = 0; i < before; ++i) publish_pattern(writer);
    Scene scene{memory, {}};
    auto last = values_of(memory);
    on_step = [&] {
        auto now = values_of(memory);
        for (std::size_t word = 0; word < now.size(); ++word) {
            if (now[word] != last[word]) scene.stores.push_back({word, now[word]});
        }
        last = std::move(now);
    };
    publish_pattern(writer);
    return scene;
}

struct Verdict {
    int whole{0};
    int torn{0};
    int others{0};  ///< Refused as not published yet, or as missed.
};

/// Lets a reader read entry `wanted` with all positions of three breaks between its loads: some stores before the first
/// load, some after load `first`, some after load `second`.
Verdict play(const Scene& scene, std::uint64_t wanted) {
    Verdict verdict;
    const auto count = scene.stores.size();
    constexpr int kLoads = 16;  // sequence, kind, at most 14 words; the check of the sequence comes after the last
    for (std::size_t a = 0; a <= count; ++a) {
        for (std::size_t b = a; b <= count; ++b) {
            for (std::size_t c = b; c <= count; ++c) {
                for (int first = 1; first <= kLoads; ++first) {
                    for (int second = first; second <= kLoads; ++second) {
                        auto memory = scene.memory;
                        std::size_t stored = 0;
                        const auto store_until = [&](std::size_t end) {
                            for (; stored < end; ++stored) {
                                memory.words()[scene.stores[stored].word].store(scene.stores[stored].value);
                            }
                        };
                        int loads = 0;
                        std::function<void()> on_step = [&] {
                            ++loads;
                            if (loads == first) store_until(b);
                            if (loads == second) store_until(c);
                        };
                        BasicBroadcastReader<CallStep> reader{memory.bytes(), kContent, CallStep{&on_step}};
                        reader.seek(wanted);
                        store_until(a);
                        BroadcastMessage message;
                        if (reader.try_read(message) != ReadOutcome::message) {
                            ++verdict.others;
                        } else if (message.number == wanted && whole(message)) {
                            ++verdict.whole;
                        } else {
                            ++verdict.torn;
                        }
                        if (b == c) break;  // the second break has no effect
                    }
                    if (a == c) break;  // no break has an effect
                }
            }
        }
    }
    return verdict;
}

/// Number of entries published before: the next one is 3, a short one over entry 1, or 4, which fills its slot, over
/// entry 2.
constexpr std::array<std::uint64_t, 2> kBefore{2, 3};

/// Index of the store that puts `mark` into an entry.
std::size_t find_mark(const Scene& scene, std::uint64_t mark) {
    const auto found = std::find_if(scene.stores.begin(), scene.stores.end(), [&](const Store& store) {
        return store.value == mark && store.word >= sizeof(BroadcastHeader) / sizeof(Word);
    });
    return static_cast<std::size_t>(found - scene.stores.begin());
}

TEST(BroadcastInterleaving, AReaderOfAnEntryThatIsBeingOverwrittenNeverSeesAMixture) {
    for (const auto before : kBefore) {
        const auto scene = record_publish(before);
        const auto verdict = play(scene, before + 1 - kCapacity);
        EXPECT_EQ(verdict.torn, 0);
        EXPECT_GT(verdict.whole, 0);
        EXPECT_GT(verdict.others, 0);
    }
}

TEST(BroadcastInterleaving, AReaderOfAnEntryThatIsBeingWrittenNeverSeesAMixture) {
    for (const auto before : kBefore) {
        const auto scene = record_publish(before);
        const auto verdict = play(scene, before + 1);
        EXPECT_EQ(verdict.torn, 0);
        EXPECT_GT(verdict.whole, 0);
        EXPECT_GT(verdict.others, 0);
    }
}

// Writers that are wrong on purpose: the two tests above would fail with them.

TEST(BroadcastInterleaving, AWriterThatPublishesTheSequenceBeforeTheDataIsCaught) {
    for (const auto before : kBefore) {
        auto scene = record_publish(before);
        const auto complete = find_mark(scene, complete_mark(before + 1));
        ASSERT_LT(complete, scene.stores.size());
        const auto at = scene.stores.begin() + static_cast<std::ptrdiff_t>(complete);
        std::rotate(scene.stores.begin() + 1, at, at + 1);  // right after the mark of an incomplete entry
        EXPECT_GT(play(scene, before + 1).torn, 0);
    }
}

TEST(BroadcastInterleaving, AWriterThatDoesNotMarkItsStartIsDetected) {
    for (const auto before : kBefore) {
        auto scene = record_publish(before);
        ASSERT_EQ(find_mark(scene, writing_mark(before + 1)), 0U);
        scene.stores.erase(scene.stores.begin());
        EXPECT_GT(play(scene, before + 1 - kCapacity).torn, 0);
    }
}

TEST(BroadcastInterleaving, AWriterThatMarksItsStartLateIsDetected) {
    for (const auto before : kBefore) {
        auto scene = record_publish(before);
        ASSERT_EQ(find_mark(scene, writing_mark(before + 1)), 0U);
        std::swap(scene.stores[0], scene.stores[1]);
        EXPECT_GT(play(scene, before + 1 - kCapacity).torn, 0);
    }
}

}  // namespace
}  // namespace millpond::queue
