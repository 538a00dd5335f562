// Measured:     from an order's values in cache to the bytes of its NewOrderSingle, two UTC times in milliseconds
//               included, BodyLength and CheckSum right.
// Not measured: making templates, sending.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/fix/message_template.hpp>
#include <millpond/fix/writer.hpp>

#include "bench/fix/one_pass.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/rivals/quickfix_codec.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kOrders = 256;
constexpr std::size_t kPasses = 300;
using Buffer = std::array<char, 512>;

std::vector<bench::OrderValues> make_orders() {
    std::vector<bench::OrderValues> orders;
    for (std::size_t i = 0; i < kOrders; ++i) {
        orders.push_back({.sequence = 100'000 + i,
                          .id = 200'000 + i,
                          .price = static_cast<std::int64_t>(10'025 + i * 100),
                          .quantity = static_cast<std::int64_t>(1000 + i),
                          .utc_ns = 1'704'164'645'000'000'000 + static_cast<std::int64_t>(i) * 11'000'000});
    }
    return orders;
}
const auto kInput = make_orders();

/// Writes field by field, as a session does.
class FieldByField {
public:
    std::string_view write(const bench::OrderValues& order, Buffer& buffer) {
        std::array<char, 9> id{'O', 'R', 'D'};
        auto rest = order.id;
        for (std::size_t at = 8; at >= 3; --at, rest /= 10) id[at] = static_cast<char>('0' + rest % 10);
        fix::Writer writer{buffer, "FIX.4.4"};
        writer.add<35>('D').add<34>(order.sequence).add<49>("BUYSIDE");
        writer.add_timestamp<52>(order.utc_ns, fix::TimePrecision::millis).add<56>("SELLSIDE").add<1>("ACCOUNT1");
        writer.add<11>(std::string_view{id.data(), id.size()}).add<21>('1').add<38>(order.quantity).add<40>('2');
        writer.add<44>(fix::Decimal{order.price, 2}).add<54>('1').add<55>("MSFT").add<59>('0');
        writer.add_timestamp<60>(order.utc_ns, fix::TimePrecision::millis);
        return writer.finish().value_or("");
    }
};

std::string an_order() {
    Buffer buffer;
    return std::string{FieldByField{}.write(kInput.front(), buffer)};
}

void write_digits(char* at, std::size_t width, std::uint64_t value) {
    for (; width > 0; --width, value /= 10) at[width - 1] = static_cast<char>('0' + value % 10);
}

class Patched {
public:
    std::string_view write(const bench::OrderValues& order, Buffer&) {
        std::array<char, 6> price;
        write_digits(price.data(), 3, static_cast<std::uint64_t>(order.price / 100));
        price[3] = '.';
        write_digits(price.data() + 4, 2, static_cast<std::uint64_t>(order.price % 100));
        std::array<char, 9> id{'O', 'R', 'D'};
        write_digits(id.data() + 3, 6, order.id);
        const bool all = message_.patch_number(sequence_, order.sequence) &&
                         message_.patch_timestamp(sent_, order.utc_ns, fix::TimePrecision::millis) &&
                         message_.patch(id_, {id.data(), id.size()}) &&
                         message_.patch_number(quantity_, static_cast<std::uint64_t>(order.quantity)) &&
                         message_.patch(price_, {price.data(), price.size()}) &&
                         message_.patch_timestamp(transacted_, order.utc_ns, fix::TimePrecision::millis);
        return all ? message_.bytes() : std::string_view{};
    }

private:
    fix::MessageTemplate message_{an_order()};
    fix::MessageTemplate::Slot sequence_{message_.slot(34).value()};
    fix::MessageTemplate::Slot sent_{message_.slot(52).value()};
    fix::MessageTemplate::Slot id_{message_.slot(11).value()};
    fix::MessageTemplate::Slot quantity_{message_.slot(38).value()};
    fix::MessageTemplate::Slot price_{message_.slot(44).value()};
    fix::MessageTemplate::Slot transacted_{message_.slot(60).value()};
};

/// The bare minimum: a finished message whose variable characters are overwritten, then one pass for the sum. The text
/// of the current second is cached.
class Limit {
public:
    Limit() : bytes_(an_order()), size_(bytes_.size()) {
        bytes_.append(64, '\0');
        const auto place = [this](const char* tag) {
            return bytes_.find(std::string{'\x01'} + tag) + std::strlen(tag) + 1;
        };
        sequence_ = place("34=");
        sent_ = place("52=");
        id_ = place("11=ORD");
        quantity_ = place("38=");
        price_ = place("44=");
        transacted_ = place("60=");
    }
    std::string_view write(const bench::OrderValues& order, Buffer&) {
        auto* data = bytes_.data();
        const auto second = order.utc_ns / 1'000'000'000;
        if (second != second_) {
            second_ = second;
            fix::write_utc_timestamp(data + sent_, order.utc_ns, fix::TimePrecision::millis);
            std::memcpy(data + transacted_, data + sent_, 21);
        }
        const auto millis = static_cast<std::uint64_t>(order.utc_ns / 1'000'000 % 1000);
        write_digits(data + sent_ + 18, 3, millis);
        write_digits(data + transacted_ + 18, 3, millis);
        write_digits(data + sequence_, 6, order.sequence);
        write_digits(data + id_, 6, order.id);
        write_digits(data + quantity_, 4, static_cast<std::uint64_t>(order.quantity));
        write_digits(data + price_, 3, static_cast<std::uint64_t>(order.price / 100));
        write_digits(data + price_ + 4, 2, static_cast<std::uint64_t>(order.price % 100));
        write_digits(data + size_ - 4, 3, bench::one_pass(data, size_ - 7).sum % 256);
        return {data, size_};
    }

private:
    std::string bytes_;
    std::size_t size_;
    std::size_t sequence_{0}, sent_{0}, id_{0}, quantity_{0}, price_{0}, transacted_{0};
    std::int64_t second_{0};
};

#if defined(MILLPOND_RIVAL_QUICKFIX)
class QuickFix {
public:
    std::string_view write(const bench::OrderValues& order, Buffer& buffer) {
        return {buffer.data(), codec_.write(order, buffer.data())};
    }

private:
    bench::QuickfixCodec codec_;
};
#endif

template <class Encoder>
bench::Finding encode() {
    Encoder encoder;
    Buffer buffer;
    const auto passes = bench::scaled(kPasses);
    const auto nanos = bench::typical_nanos_each(passes, kOrders, [&] {
        for (const auto& order : kInput) {
            auto message = encoder.write(order, buffer);
            bench::keep(message);
        }
    });
    // Weights each byte by its position.
    std::uint64_t answer = 0;
    for (const auto& order : kInput) {
        for (const char c : encoder.write(order, buffer))
            answer = answer * 1'099'511'628'211ULL + static_cast<unsigned char>(c);
    }
    return {.value = nanos, .answer = answer | 1U};
}

}  // namespace

int main() {
    const std::string limit = "limit: a template patched";
    bench::Question question{
        .question = "What does writing a NewOrderSingle of " + std::to_string(an_order().size()) + " bytes cost?",
        .unit = "ns/message",
        .goals = {{.contender = "MessageTemplate", .to = limit, .at_most = 1.7},
                  {.contender = "Writer", .to = limit, .at_most = 1.7}},
        .measured =
            "from an order's values in cache to its bytes, two times in milliseconds, BodyLength and CheckSum "
            "included",
        .not_measured = "making the template, sending"};
    std::vector<bench::Contender> contenders{
        {limit, encode<Limit>}, {"MessageTemplate", encode<Patched>}, {"Writer", encode<FieldByField>}};
#if defined(MILLPOND_RIVAL_QUICKFIX)
    contenders.push_back({"QuickFIX of Debian", encode<QuickFix>});
#else
    question.not_measured += "; QuickFIX is not installed here";
#endif
    bench::compare(question, contenders);
}
