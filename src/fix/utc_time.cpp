#include <millpond/fix/utc_time.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include <millpond/fix/detail/words.hpp>

namespace millpond::fix {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;
constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::size_t kDateChars = 8;
constexpr std::size_t kTimeChars = 8;
constexpr std::size_t kSecondChars = kDateChars + 1 + kTimeChars;
constexpr std::size_t kMaxFractionDigits = 12;

constexpr std::array<char, 200> kPairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}();

void write_pair(char* out, unsigned value) noexcept { std::memcpy(out, &kPairs[std::size_t{value} * 2], 2); }

/// Text of a second since 1970: "20240102-03:04:05".
struct SecondText {
    std::int64_t second{std::numeric_limits<std::int64_t>::min()};
    std::array<char, kSecondChars> text{};

    void make(std::int64_t wanted) noexcept {
        second = wanted;
        auto days = wanted / kDaySeconds;
        auto in_day = wanted % kDaySeconds;
        if (in_day < 0) {
            in_day += kDaySeconds;
            --days;
        }
        const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
        const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
        const auto seconds = static_cast<unsigned>(in_day);
        auto* const out = text.data();
        write_pair(out, year / 100);
        write_pair(out + 2, year % 100);
        write_pair(out + 4, static_cast<unsigned>(date.month()));
        write_pair(out + 6, static_cast<unsigned>(date.day()));
        out[8] = '-';
        write_pair(out + 9, seconds / 3600);
        out[11] = ':';
        write_pair(out + 12, seconds / 60 % 60);
        out[14] = ':';
        write_pair(out + 15, seconds % 60);
    }
};

std::optional<std::chrono::year_month_day> read_date(std::string_view text) noexcept {
    if (text.size() != kDateChars) return std::nullopt;
    bool ok = false;
    const auto number = detail::digits_before(text.data() + kDateChars, kDateChars, ok);
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(number / 10'000)},
                                           std::chrono::month{number / 100 % 100}, std::chrono::day{number % 100}};
    if (!ok || !date.ok()) return std::nullopt;
    return date;
}

bool has_form_of_timestamp(std::string_view text) noexcept {
    return text.size() >= kDateChars + 1 + kTimeChars && text[kDateChars] == '-';
}

}  // namespace

std::optional<std::int64_t> parse_utc_date(std::string_view text) noexcept {
    const auto date = read_date(text);
    if (!date || date->year() < std::chrono::year{1678} || date->year() > std::chrono::year{2261}) return std::nullopt;
    return std::chrono::sys_days{*date}.time_since_epoch().count() * kDay;
}

bool is_utc_date(std::string_view text) noexcept { return read_date(text).has_value(); }

std::optional<std::int64_t> parse_utc_time(std::string_view text) noexcept {
    if (text.size() < kTimeChars) return std::nullopt;
    const auto values = detail::load_word(text.data()) ^ detail::word_of("00:00:00");
    constexpr auto kColons = 0x0000FF0000FF0000ULL;
    if (!detail::are_digits(values) || (values & kColons) != 0) return std::nullopt;
    const auto pairs = values * 10 + (values >> 8);  // in the byte of each pair's first digit
    const auto hour = static_cast<std::int64_t>(pairs & 0xFF);
    const auto minute = static_cast<std::int64_t>(pairs >> 24 & 0xFF);
    const auto second = static_cast<std::int64_t>(pairs >> 48 & 0xFF);
    if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
    std::int64_t nanos = 0;
    if (text.size() > kTimeChars) {
        const auto fraction = text.substr(kTimeChars + 1);
        if (text[kTimeChars] != '.' || fraction.empty() || fraction.size() > kMaxFractionDigits) return std::nullopt;
        auto unit = kSecond / 10;
        for (const char c : fraction) {
            if (c < '0' || c > '9') return std::nullopt;
            nanos += (c - '0') * unit;
            unit /= 10;
        }
    }
    return (hour * 3600 + minute * 60 + second) * kSecond + nanos;
}

std::optional<std::int64_t> parse_utc_timestamp(std::string_view text) noexcept {
    if (!has_form_of_timestamp(text)) return std::nullopt;
    const auto date = parse_utc_date(text.substr(0, kDateChars));
    const auto time = parse_utc_time(text.substr(kDateChars + 1));
    if (!date || !time) return std::nullopt;
    return *date + *time;
}

bool is_utc_timestamp(std::string_view text) noexcept {
    return has_form_of_timestamp(text) && is_utc_date(text.substr(0, kDateChars)) &&
           parse_utc_time(text.substr(kDateChars + 1));
}

std::size_t write_utc_timestamp(char* out, std::int64_t utc_ns, TimePrecision precision) noexcept {
    // Most times are in the same second as the previous one.
    thread_local SecondText newest;
    auto second = utc_ns / kSecond;
    auto fraction = static_cast<std::int32_t>(utc_ns % kSecond);
    if (fraction < 0) {
        fraction += static_cast<std::int32_t>(kSecond);
        --second;
    }
    if (second != newest.second) newest.make(second);
    std::memcpy(out, newest.text.data(), kSecondChars);
    if (precision == TimePrecision::seconds) return timestamp_chars(precision);
    out[kSecondChars] = '.';
    auto* const digits = out + kSecondChars + 1;
    const auto nanos = static_cast<std::uint32_t>(fraction);
    if (precision == TimePrecision::millis) {
        const auto millis = nanos / 1'000'000;
        write_pair(digits, millis / 10);
        digits[2] = static_cast<char>('0' + millis % 10);
        return timestamp_chars(precision);
    }
    // Nine digits, of which the first six or all are used: one, then eight in a word.
    std::array<char, 9> all;
    all[0] = static_cast<char>('0' + nanos / 100'000'000);
    detail::store_word(all.data() + 1, detail::digits_of(nanos % 100'000'000) + 0x3030303030303030ULL);
    std::memcpy(digits, all.data(), static_cast<std::size_t>(precision));
    return timestamp_chars(precision);
}

}  // namespace millpond::fix
