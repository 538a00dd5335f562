// Measured:     from the call with a message of 256 bytes in cache until it is kept under its number and counts as
//               sent. The distribution is that of single messages, reading the counter of ticks included, whose steps
//               may be as long as a call; the median is that of blocks of 64 messages.
// Not measured: construction, first touch of the rings.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/memory/region.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kBytes = 256;
constexpr std::size_t kRingBytes = std::size_t{64} << 20U;
constexpr std::size_t kSampled = 200'000;  // messages of one run, evenly spaced
constexpr std::size_t kBlock = 64;         // messages timed together
constexpr std::size_t kBlocks = 1000;
const core::TickRate kRate;

memory::Region huge(std::size_t bytes) {
    return memory::Region::anonymous(bytes, {.huge_pages = memory::HugePages::prefer, .prefault = true});
}

/// The bare minimum: a ring of bytes and an index by number, on huge pages, with the next cache lines prefetched for
/// writing.
class Limit {
public:
    bool store(std::string_view message) {
        if (end_ + message.size() > kRingBytes) end_ = 0;
        auto* at = reinterpret_cast<char*>(ring_.data()) + end_;
        std::memcpy(at, message.data(), message.size());
        for (std::size_t line = 0; line < kBytes; line += 64) __builtin_prefetch(at + 2 * kBytes + line, 1);
        auto& entry = entries()[next_ % kSlots];
        entry = {next_, end_, message.size(), 0};
        __builtin_prefetch(&entry + 8, 1);
        end_ += message.size();
        ++next_;
        return true;
    }
    std::string_view retrieve(std::uint64_t number) {
        const auto& entry = entries()[number % kSlots];
        if (entry.number != number) return {};
        return {reinterpret_cast<const char*>(ring_.data()) + entry.begin, entry.size};
    }

private:
    struct Entry {
        std::uint64_t number, begin, size, unused;
    };
    static constexpr std::size_t kSlots = kRingBytes / 128;
    Entry* entries() { return reinterpret_cast<Entry*>(index_.data()); }
    memory::Region ring_{huge(kRingBytes + 4096)};
    memory::Region index_{huge((kSlots + 16) * sizeof(Entry))};
    std::uint64_t end_{0};
    std::uint64_t next_{1};
};

template <class Store>
bool store_in(Store& store, std::string_view message) {
    const auto number = store.next_sender();
    if (!store.store(message)) return false;
    store.mark_written(number);
    return true;
}

class InMemory {
public:
    bool store(std::string_view message) { return store_in(store_, message); }
    std::string_view retrieve(std::uint64_t number) { return store_.retrieve(number).value_or(""); }

private:
    memory::Region region_{huge(fix::MessageStore::memory_bytes(kRingBytes))};
    fix::MemoryStore store_{0, region_.bytes()};
};

class InFiles {
public:
    InFiles() {
        // All segments exist before the first message, as in the middle of a day.
        for (std::size_t i = 0; i < kRingBytes / kBytes + 1; ++i) {
            static_cast<void>(store_in(*store_, std::string_view{filling_}));
            if (i % 1024 == 0) static_cast<void>(store_->maintain({}));
        }
        store_->reset(0);
    }
    ~InFiles() {
        store_.reset();
        std::filesystem::remove_all(folder_);
    }
    InFiles(const InFiles&) = delete;
    InFiles& operator=(const InFiles&) = delete;

    bool store(std::string_view message) { return store_in(*store_, message); }
    std::string_view retrieve(std::uint64_t number) { return store_->retrieve(number).value_or(""); }

private:
    static std::filesystem::path make_folder() {
        const auto folder =
            std::filesystem::temp_directory_path() / ("millpond-store-bench-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
        return folder;
    }
    std::string filling_ = std::string(kBytes, 'f');
    std::filesystem::path folder_{make_folder()};
    std::unique_ptr<fix::FileStore> store_{
        std::make_unique<fix::FileStore>(folder_ / "store", 0, fix::FileStore::Options{.data_bytes = kRingBytes})};
};

/// Keeps all messages: the bench must bound their number.
class OnMonotonicBuffer {
public:
    bool store(std::string_view message) {
        messages_.emplace(next_++, std::pmr::vector<char>(message.begin(), message.end(), &buffer_));
        return true;
    }
    std::string_view retrieve(std::uint64_t number) {
        const auto at = messages_.find(number);
        return at == messages_.end() ? std::string_view{} : std::string_view{at->second.data(), at->second.size()};
    }

private:
    std::pmr::monotonic_buffer_resource buffer_{kRingBytes};
    std::pmr::unordered_map<std::uint64_t, std::pmr::vector<char>> messages_{&buffer_};
    std::uint64_t next_{1};
};

class OnTheHeap {
public:
    bool store(std::string_view message) {
        messages_.emplace(next_++, std::vector<char>(message.begin(), message.end()));
        return true;
    }
    std::string_view retrieve(std::uint64_t number) {
        const auto at = messages_.find(number);
        return at == messages_.end() ? std::string_view{} : std::string_view{at->second.data(), at->second.size()};
    }

private:
    std::unordered_map<std::uint64_t, std::vector<char>> messages_;
    std::uint64_t next_{1};
};

/// A thread that allocates and frees memory during its lifetime.
class Allocating {
public:
    Allocating()
        : thread_([this] {
              std::vector<std::unique_ptr<char[]>> held(512);
              for (std::size_t i = 0; !over_.load(std::memory_order_relaxed); ++i) {
                  held[i % held.size()] = std::make_unique<char[]>(64 + i * 97 % 4000);
                  if (i % 4096 == 0) std::this_thread::yield();
              }
          }) {}
    ~Allocating() {
        over_.store(true, std::memory_order_relaxed);
        thread_.join();
    }
    Allocating(const Allocating&) = delete;
    Allocating& operator=(const Allocating&) = delete;

private:
    std::atomic<bool> over_{false};
    std::thread thread_;
};

/// The median over blocks of messages, each timed by one reading of ticks: those of a single message are too coarse.
template <class Store>
double typical_nanos(Store& store, std::array<char, kBytes>& message, std::uint64_t number) {
    std::vector<double> nanos(kBlocks);
    for (auto& block : nanos) {
        const auto start = core::ticks();
        for (std::size_t i = 0; i < kBlock; ++i) {
            ++number;
            std::memcpy(message.data(), &number, sizeof number);
            if (!store.store({message.data(), message.size()})) throw bench::Refused("a message was not kept");
        }
        block = static_cast<double>(core::ticks() - start) * kRate.nanos_per_tick() / double{kBlock};
    }
    return bench::median(std::move(nanos));
}

template <class Store>
bench::Finding keep_messages(std::size_t count, std::size_t burst) {
    Store store;
    std::array<char, kBytes> message;
    message.fill('m');
    const auto step = count / kSampled + 1;
    bench::Finding found;
    found.latencies.reserve(count / step + 1);
    std::uint64_t refused = 0;
    {
        std::unique_ptr<Allocating> noise;
        if (burst != 0) noise = std::make_unique<Allocating>();
        for (std::uint64_t i = 1; i <= count; ++i) {
            std::memcpy(message.data(), &i, sizeof i);
            const auto start = core::ticks();
            const bool kept = store.store({message.data(), message.size()});
            const auto ticks = core::ticks() - start;
            if (!kept) ++refused;
            if (i % step == 0) {
                found.latencies.push_back(static_cast<float>(static_cast<double>(ticks) * kRate.nanos_per_tick()));
            }
            if (burst != 0 && i % burst == 0) std::this_thread::yield();
        }
    }
    found.value = typical_nanos(store, message, count);
    // Checks the newest thousand messages.
    const auto newest = count + kBlocks * kBlock;
    for (std::uint64_t i = newest - 999; i <= newest; ++i) {
        std::uint64_t number = 0;
        const auto text = store.retrieve(i);
        if (text.size() == kBytes) std::memcpy(&number, text.data(), sizeof number);
        found.answer += number == i ? 1U : 0U;
    }
    if (refused != 0) found.answer = 0;
    return found;
}

}  // namespace

int main() {
    constexpr std::size_t kBurst = MILLPOND_BENCH_BURST;
    const auto count = bench::scaled(MILLPOND_BENCH_MESSAGES);
    const std::string limit = "limit: ring and index";
    const std::string ours = "MemoryStore";
    const std::string pmr = "unordered_map + vector on a monotonic buffer";
    const auto text = std::to_string(count);
    bench::Question question{
        .question = "What does keeping a message of 256 bytes cost, " + text +
                    (kBurst == 0 ? " in a row?" : " in bursts while another thread allocates?"),
        .unit = "ns/message",
        .expected = 1000,
        .goals = {{.contender = ours, .to = limit, .at_most = 1.3},
                  {.contender = ours, .to = limit, .of = bench::Statistic::mean, .at_most = 1.3},
                  {.contender = "FileStore", .to = limit, .at_most = 1.3},
                  {.contender = "FileStore", .to = limit, .of = bench::Statistic::mean, .at_most = 1.3}},
        .measured =
            "from the call until the message is kept under its number and counts as sent; median: of blocks of 64; "
            "distribution: of single messages, the reading of ticks included; a refusal is a wrong answer",
        .not_measured = "construction, first touch of the rings"};
    std::vector<bench::Contender> contenders{{limit, [count] { return keep_messages<Limit>(count, kBurst); }},
                                             {ours, [count] { return keep_messages<InMemory>(count, kBurst); }},
                                             {"FileStore", [count] { return keep_messages<InFiles>(count, kBurst); }}};
    if (count <= 200'000) {
        contenders.push_back({pmr, [count] { return keep_messages<OnMonotonicBuffer>(count, kBurst); }});
        contenders.push_back(
            {"unordered_map + vector on the heap", [count] { return keep_messages<OnTheHeap>(count, kBurst); }});
        question.goals.push_back({.contender = pmr, .to = ours, .of = bench::Statistic::mean, .at_least = 4.0});
    } else {
        question.not_measured += "; maps of all messages, which would take gigabytes";
    }
    bench::compare(question, contenders);
}
