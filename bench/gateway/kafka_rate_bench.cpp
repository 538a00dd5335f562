// Measured:     from the acknowledgement of a tenth of the messages until that of the last one: quotes as JSON with key
//               and headers through an idempotent producer, acks=all, lz4, to librdkafka's make-believe cluster in this
//               process. The sink reads them from a journal and encodes them; the bare client sends the same values,
//               which are finished.
// Not measured: a real broker's disk and network, the producer's beginning.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/journal/journal_writer.hpp>

#include "bench/gateway/folder.hpp"
#include "bench/gateway/mock_kafka.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "gateway/sinks/kafka/kafka_sink.hpp"
#include "gateway/sinks/kafka/producer.hpp"

namespace {

using namespace millpond;
namespace kafka = gateway::kafka;

constexpr std::size_t kSymbols = 64;
const core::TickRate kRate;

feed::Quote quote_of(std::uint64_t number) {
    feed::Quote quote;
    quote.instrument = static_cast<feed::InstrumentId>(number % kSymbols);
    quote.bid_price = feed::price_from<10'000>(static_cast<std::uint32_t>(1'892'400 + number % 1'000));
    quote.ask_price = quote.bid_price + feed::price_from<10'000>(200);
    quote.bid_size = 300;
    quote.ask_size = 200;
    quote.receive_utc_ns = 1'580'398'200'000'000'000 + static_cast<std::int64_t>(number);
    return quote;
}

feed::Symbol symbol_of(std::uint64_t number) { return feed::Symbol{"SYM" + std::to_string(number % kSymbols)}; }

/// The cluster and the journal, made once.
class Bed {
public:
    Bed() {
        journal::JournalWriter writer{{.folder = folder_ / "journal", .ring = "bench", .segment_bytes = 1U << 26U}, 0};
        writer.set_epoch(1);
        for (std::uint64_t id = 0; id < kSymbols; ++id) {
            writer.name(static_cast<feed::InstrumentId>(id), {feed::Venue{"X"}, symbol_of(id)});
        }
        for (std::uint64_t n = 1; n <= count(); ++n) {
            while (!writer.append(quote_of(n), n)) writer.service(0);
        }
        newest_.set(writer.counters().newest_record.read());
        std::array<char, feed::kMaxJsonBytes> buffer;
        for (std::uint64_t n = 1; n <= count(); ++n)
            values_.emplace_back(feed::quote_json(buffer, quote_of(n), feed::JsonSymbol{symbol_of(n)}, n));
    }

    [[nodiscard]] static std::uint64_t count() { return bench::scaled(100'000); }
    /// The values as the sink encodes them, by sequence number minus 1.
    [[nodiscard]] const std::vector<std::string>& values() const { return values_; }
    [[nodiscard]] kafka::Settings settings() const {
        kafka::Settings settings;
        settings.name = "kafka";
        std::filesystem::remove(folder_ / "journal/kafka.position");
        settings.brokers = {kafka_.brokers()};
        return settings;
    }
    [[nodiscard]] gateway::JournalSource source() const {
        return {.ring = "bench", .folder = folder_ / "journal", .newest_record = &newest_, .is_open = &is_open_};
    }

private:
    bench::Folder folder_;
    bench::MockKafka kafka_;
    core::Tally newest_;
    std::atomic<bool> is_open_{true};
    std::vector<std::string> values_;
};

/// Nanoseconds per message between two counts of acknowledged messages.
class Stretch {
public:
    void see(std::uint64_t delivered) {
        if (first_ == 0 && delivered >= Bed::count() / 10) {
            first_ = delivered;
            begun_ = core::ticks();
        }
    }
    [[nodiscard]] double nanos_each() const {
        return static_cast<double>(kRate.nanos(core::ticks() - begun_)) / static_cast<double>(Bed::count() - first_);
    }

private:
    std::uint64_t first_{0};
    std::uint64_t begun_{0};
};

bench::Finding sink(const Bed& bed, kafka::Format format) {
    auto settings = bed.settings();
    settings.format = format;
    kafka::KafkaSink sink{settings, bed.source(), "", core::kFileMode,
                          [](service::Severity, std::string_view, const std::string& text) {
                              throw std::runtime_error(text);  // a run needs its broker
                          }};
    sink.start();
    Stretch stretch;
    while (sink.counters().messages.read() < Bed::count()) {
        stretch.see(sink.counters().messages.read());
        std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
    return {.value = stretch.nanos_each(), .answer = sink.counters().messages.read()};
}

class Reports final : public kafka::Producer::Reports {
public:
    void delivered(std::uint64_t, std::size_t) override { ++count; }
    void failed(std::uint64_t, const kafka::Refusal& refusal) override { throw std::runtime_error(refusal.text); }
    void error(const std::string& text) override { throw std::runtime_error(text); }
    void connected(bool) override {}
    std::uint64_t count{0};
};

bench::Finding bare(const Bed& bed) {
    const auto settings = bed.settings();
    Reports reports;
    kafka::Producer producer{settings, "", {}, reports};
    auto* const topic = producer.topic("bbo");
    std::array<std::string, kSymbols> keys;
    for (std::size_t i = 0; i < kSymbols; ++i) keys[i] = symbol_of(i).view();
    Stretch stretch;
    std::uint64_t sent = 0;
    while (reports.count < Bed::count()) {
        for (int i = 0; i < 1'000 && sent < Bed::count() && sent - reports.count < settings.window; ++i, ++sent) {
            const auto refused = producer.send(topic,
                                               {.key = keys[(sent + 1) % kSymbols],
                                                .value = bed.values()[sent],
                                                .epoch = 1,
                                                .sequence = sent + 1,
                                                .received_utc_ns = quote_of(sent + 1).receive_utc_ns},
                                               sent);
            if (refused) throw std::runtime_error(refused->text);
        }
        const bool waits = sent == Bed::count() || sent - reports.count >= settings.window;
        producer.poll(std::chrono::milliseconds{waits ? 1 : 0});
        stretch.see(reports.count);
    }
    return {.value = stretch.nanos_each(), .answer = reports.count};
}

}  // namespace

int main() {
    const Bed bed;
    bench::compare(
        {.question = "What does a quote to Kafka cost, by the sink and by the bare client?",
         .unit = "ns/message",
         .expected = Bed::count(),
         .goals = {{.contender = "millpond kafka sink", .to = "bare librdkafka", .at_most = 1.2}},
         .measured = "between the acknowledgement of a tenth of the messages and that of the last one, with "
                     "key and headers, idempotent, acks=all, lz4, to librdkafka's make-believe cluster in "
                     "this process; the sink reads a journal and encodes JSON, or binary values, the bare client "
                     "sends the same JSON, which is finished",
         .not_measured = "a real broker's disk and network, the producer's beginning"},
        {{"bare librdkafka", [&] { return bare(bed); }},
         {"millpond kafka sink", [&] { return sink(bed, kafka::Format::json); }},
         {"millpond kafka sink, binary", [&] { return sink(bed, kafka::Format::binary); }}});
}
