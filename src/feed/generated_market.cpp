#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/feed/generated_market.hpp>

namespace millpond::feed {
namespace {

constexpr Price kTick = kPriceScale / 100;
constexpr std::uint32_t kMinTicks = 100;

struct Listing {
    std::string_view symbol;
    std::uint32_t price_ticks;
};
constexpr std::array kListings{
    Listing{"AAPL", 18'925}, Listing{"MSFT", 41'510}, Listing{"NVDA", 87'540},   Listing{"AMZN", 17'890},
    Listing{"GOOG", 14'120}, Listing{"META", 48'435}, Listing{"TSLA", 24'050},   Listing{"AMD", 17'625},
    Listing{"SPY", 51'230},  Listing{"QQQ", 43'870},  Listing{"INTC", 4'315},    Listing{"BAC", 3'405},
    Listing{"F", 1'215},     Listing{"T", 1'712},     Listing{"JPM", 18'340},    Listing{"XOM", 10'465},
    Listing{"KO", 6'015},    Listing{"PFE", 2'755},   Listing{"NVR", 1'250'000},
};

std::uint64_t split_mix(std::uint64_t& state) {
    auto z = (state += 0x9E37'79B9'7F4A'7C15);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
}

// "ZAAA", "ZAAB", ...: no listing above begins with Z.
Symbol made_up_symbol(std::size_t number) {
    std::array letters{'Z', 'A', 'A', 'A'};
    for (std::size_t place = letters.size() - 1; place > 0; --place) {
        letters[place] = static_cast<char>('A' + number % 26);
        number /= 26;
    }
    return Symbol{{letters.data(), letters.size()}};
}

}  // namespace

GeneratedMarket::GeneratedMarket(const Options& options) {
    if (options.instruments == 0 || options.instruments > kMaxInstruments) {
        throw std::invalid_argument("generated market: " + std::to_string(options.instruments) +
                                    " instruments is not in 1.." + std::to_string(kMaxInstruments));
    }
    auto seed = options.seed;
    for (auto& word : state_) word = split_mix(seed);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < options.instruments; ++i) {
        const bool listed = i < kListings.size();
        const auto ticks = listed ? kListings[i].price_ticks : 500 + below(40'000);
        Book book{ticks, ticks, ticks + 1 + below(4), 0, 0, listed ? 100U : 10U};
        book.bid_size = some_size(book);
        book.ask_size = some_size(book);
        books_.push_back(book);
        symbols_.push_back(listed ? Symbol{kListings[i].symbol} : made_up_symbol(i - kListings.size()));
        total += (std::uint64_t{1} << 32) / (i + 1);
        cumulative_.push_back(total);
    }
}

std::uint64_t GeneratedMarket::random() noexcept {
    const auto result = std::rotl(state_[1] * 5, 7) * 9;
    const auto shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

std::uint32_t GeneratedMarket::below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((random() >> 32) * bound >> 32);
}

std::uint32_t GeneratedMarket::pick() noexcept {
    const auto point = random() % cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
    return static_cast<std::uint32_t>(found - cumulative_.begin());
}

const GeneratedMarket::Step& GeneratedMarket::next() noexcept {
    const auto instrument = pick();
    auto& book = books_[instrument];
    const auto before = book;
    step_.traded = false;
    step_.trade_size = 0;
    const auto chance = below(100);
    if (chance < 45) {
        resize(book);
    } else if (chance < 92) {
        walk(book);
    } else {
        trade(book);
    }
    step_.instrument = instrument;
    step_.bid_changed = book.bid_ticks != before.bid_ticks || book.bid_size != before.bid_size;
    step_.ask_changed = book.ask_ticks != before.ask_ticks || book.ask_size != before.ask_size;
    step_.bid_price = book.bid_ticks * kTick;
    step_.ask_price = book.ask_ticks * kTick;
    step_.bid_size = book.bid_size;
    step_.ask_size = book.ask_size;
    return step_;
}

// Changes the size of one side; never to the same size, so that each step is a change.
void GeneratedMarket::resize(Book& book) noexcept {
    auto& size = below(2) == 0 ? book.bid_size : book.ask_size;
    const auto drawn = some_size(book);
    size = drawn == size ? drawn + book.lot : drawn;
}

// Moves one side or both by a tick, more often towards the home price than away from it; the spread stays in 1..8
// ticks.
void GeneratedMarket::walk(Book& book) noexcept {
    const bool up = below(1000) < (book.bid_ticks < book.home_ticks ? 510U : 490U);
    const auto spread = book.ask_ticks - book.bid_ticks;
    const auto which = below(3);
    bool move_bid = which != 1;
    bool move_ask = which != 0;
    if (which == 0 && (up ? spread == 1 : spread == 8)) move_ask = true;
    if (which == 1 && (up ? spread == 8 : spread == 1)) move_bid = true;
    if (!up && book.bid_ticks <= kMinTicks) move_bid = move_ask = false;
    const auto moved = [up](std::uint32_t ticks) { return up ? ticks + 1 : ticks - 1; };
    if (move_bid) {
        book.bid_ticks = moved(book.bid_ticks);
        book.bid_size = some_size(book);
    }
    if (move_ask) {
        book.ask_ticks = moved(book.ask_ticks);
        book.ask_size = some_size(book);
    }
    if (!move_bid && !move_ask) resize(book);
}

// Trades a part of one side's size; refills a side of one lot instead.
void GeneratedMarket::trade(Book& book) noexcept {
    auto& size = below(2) == 0 ? book.bid_size : book.ask_size;
    const auto lots = size / book.lot;
    if (lots < 2) {
        size += book.lot;
        return;
    }
    step_.traded = true;
    step_.trade_size = book.lot * (1 + below(lots - 1));
    size -= step_.trade_size;
}

}  // namespace millpond::feed
