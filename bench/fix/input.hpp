#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::bench {

/// Messages of FIX 4.4 of one type with different values.
struct FixInput {
    std::string_view name;
    std::vector<std::string> usual;      ///< All fields in the same order.
    std::vector<std::string> widths;     ///< The same order, with values of many widths; empty: not needed.
    std::vector<std::string> any_order;  ///< The usual messages with their body's fields shuffled; empty: not needed.
};

inline constexpr std::size_t kFixMessages = 256;

namespace detail {

struct Fields {
    std::vector<std::string> header;
    std::vector<std::string> body;
};

inline std::string whole(const Fields& fields) {
    std::string body;
    for (const auto* part : {&fields.header, &fields.body}) {
        for (const auto& field : *part) body += field + '\x01';
    }
    auto message = "8=FIX.4.4\x01" + ("9=" + std::to_string(body.size()) + '\x01') + body;
    unsigned sum = 0;
    for (const char c : message) sum += static_cast<unsigned char>(c);
    char trailer[16];
    std::snprintf(trailer, sizeof trailer, "10=%03u\x01", sum % 256);
    return message + trailer;
}

inline Fields with_header(const std::string& type, std::size_t number) {
    const auto millis = std::to_string(100 + number % 900);
    return {.header = {"35=" + type, "34=" + std::to_string(100'000 + number), "49=BUYSIDE",
                       "52=20240102-03:04:05." + millis, "56=SELLSIDE"},
            .body = {}};
}

inline std::string price(std::size_t number) { return std::to_string(100 + number % 900) + ".25"; }

inline Fields order(std::size_t number) {
    auto fields = with_header("D", number);
    fields.body = {"1=ACCOUNT1", "11=ORD" + std::to_string(100'000 + number),
                   "21=1",       "38=" + std::to_string(1000 + number),
                   "40=2",       "44=" + price(number),
                   "54=1",       "55=MSFT",
                   "59=0",       "60=20240102-03:04:05.123"};
    return fields;
}

inline Fields report(std::size_t number) {
    auto fields = with_header("8", number);
    const auto id = std::to_string(100'000 + number);
    fields.body = {"6=" + price(number),
                   "11=ORD" + id,
                   "14=1000",
                   "17=EXEC" + id,
                   "31=" + price(number),
                   "32=1000",
                   "37=ORDER" + id,
                   "38=" + std::to_string(1000 + number),
                   "39=1",
                   "40=2",
                   "44=" + price(number),
                   "54=1",
                   "55=MSFT",
                   "59=0",
                   "60=20240102-03:04:05.123",
                   "150=F",
                   "151=500"};
    return fields;
}

inline Fields market_data(std::size_t number) {
    auto fields = with_header("W", number);
    const auto entries = 10 + number % 11;
    fields.body = {"55=MSFT", "262=REQUEST-1", "268=" + std::to_string(entries)};
    for (std::size_t i = 0; i < entries; ++i) {
        for (const auto& field :
             {"269=" + std::to_string(i % 2), "270=" + price(number + i), "271=" + std::to_string(1000 + i),
              std::string{"272=20240102"}, std::string{"273=03:04:05.678"}, "290=" + std::to_string(1 + i % 9)}) {
            fields.body.push_back(field);
        }
    }
    return fields;
}

/// The values whose widths differ between messages of real traders.
inline void vary_widths(Fields& fields, std::size_t number) {
    const auto digits = [number](std::size_t most) { return std::string("7391824650").substr(0, 1 + number % most); };
    for (auto* part : {&fields.header, &fields.body}) {
        for (auto& field : *part) {
            if (field.starts_with("34=")) field = "34=" + digits(7);
            if (field.starts_with("11=")) field = "11=" + digits(10);
            if (field.starts_with("38=")) field = "38=" + digits(5) + "00";
            if (field.starts_with("44=")) field = "44=" + digits(4) + ".125";
            if (field.starts_with("55=")) field = "55=" + std::string("GOOGL").substr(0, 1 + number % 5);
        }
    }
}

/// A Text field that pads the message to `bytes`, if it is shorter.
inline void pad(Fields& fields, std::size_t bytes) {
    const auto size = whole(fields).size();
    if (size + 5 <= bytes) fields.body.push_back("58=" + std::string(bytes - size - 4, 'x'));
}

}  // namespace detail

inline FixInput fix_orders() {
    FixInput input{.name = "NewOrderSingle", .usual = {}, .widths = {}, .any_order = {}};
    std::mt19937 random{7};
    for (std::size_t i = 0; i < kFixMessages; ++i) {
        auto fields = detail::order(i);
        auto other = fields;
        detail::pad(fields, 186);
        input.usual.push_back(detail::whole(fields));
        detail::vary_widths(other, i);
        detail::pad(other, 186);
        input.widths.push_back(detail::whole(other));
        std::ranges::shuffle(fields.body, random);
        input.any_order.push_back(detail::whole(fields));
    }
    return input;
}

inline FixInput fix_reports() {
    FixInput input{.name = "ExecutionReport", .usual = {}, .widths = {}, .any_order = {}};
    std::mt19937 random{8};
    for (std::size_t i = 0; i < kFixMessages; ++i) {
        auto fields = detail::report(i);
        auto other = fields;
        detail::pad(fields, 273);
        input.usual.push_back(detail::whole(fields));
        detail::vary_widths(other, i);
        detail::pad(other, 273);
        input.widths.push_back(detail::whole(other));
        std::ranges::shuffle(fields.body, random);
        input.any_order.push_back(detail::whole(fields));
    }
    return input;
}

inline FixInput fix_market_data() {
    FixInput input{.name = "market data of 10 to 20 entries", .usual = {}, .widths = {}, .any_order = {}};
    for (std::size_t i = 0; i < kFixMessages; ++i) input.usual.push_back(detail::whole(detail::market_data(i)));
    return input;
}

inline FixInput fix_heartbeats() {
    FixInput input{.name = "Heartbeat", .usual = {}, .widths = {}, .any_order = {}};
    for (std::size_t i = 0; i < kFixMessages; ++i) {
        auto fields = detail::with_header("0", i);
        fields.header[1] = "34=" + std::to_string(1000 + i);
        fields.header[4] = "56=SELLER";
        fields.body = {"112=" + std::to_string(i % 10)};
        input.usual.push_back(detail::whole(fields));
    }
    return input;
}

/// The messages, concatenated as from a socket, and followed by readable bytes for whole vectors.
class FixStream {
public:
    explicit FixStream(const std::vector<std::string>& messages) {
        for (const auto& message : messages) bytes_ += message;
        size_ = bytes_.size();
        bytes_.append(64, '\0');
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span{bytes_.data(), size_}); }

private:
    std::string bytes_;
    std::size_t size_{0};
};

}  // namespace millpond::bench
