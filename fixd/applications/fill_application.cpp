// Source: FIX 4.0 to 5.0 SP2, ExecutionReport: what each version requires of a fill.
#include "fixd/applications/fill_application.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include <millpond/core/clock.hpp>

namespace millpond::fixd {
namespace {

constexpr fix::Tag kAvgPx = 6;
constexpr fix::Tag kCumQty = 14;
constexpr fix::Tag kExecId = 17;
constexpr fix::Tag kExecTransType = 20;
constexpr fix::Tag kLastPx = 31;
constexpr fix::Tag kLastQty = 32;
constexpr fix::Tag kOrderId = 37;
constexpr fix::Tag kOrderQty = 38;
constexpr fix::Tag kOrdStatus = 39;
constexpr fix::Tag kPrice = 44;
constexpr fix::Tag kSide = 54;
constexpr fix::Tag kSymbol = 55;
constexpr fix::Tag kExecType = 150;
constexpr fix::Tag kLeavesQty = 151;
constexpr std::string_view kMarketPrice = "100";

}  // namespace

FillApplication::FillApplication() : prefix_(std::to_string(core::utc_nanos()) + "-") {}

fix::Verdict FillApplication::on_message(engine::SessionLink& link, const fix::Message& message) {
    if (message.msg_type() != "D") return fix::Verdict::unsupported_message_type;
    const auto id = message.text(fix::tag::kClOrdId);
    const auto symbol = message.text(kSymbol);
    const auto side = message.text(kSide);
    const auto quantity = message.text(kOrderQty);
    if (!id || !symbol || !side || !quantity) return fix::Verdict::conditionally_required_field_missing;
    const auto price = message.text(kPrice).value_or(kMarketPrice);
    std::array<char, 48> buffer;  // two numbers and a dash
    std::memcpy(buffer.data(), prefix_.data(), prefix_.size());
    const auto* const end = std::to_chars(buffer.data() + prefix_.size(), buffer.data() + buffer.size(),
                                          fills_.fetch_add(1, std::memory_order_relaxed) + 1)
                                .ptr;
    const std::string_view fill{buffer.data(), static_cast<std::size_t>(end - buffer.data())};
    const auto version = link.session().config().version;
    const bool sent = link.send(
        "8",
        [&](fix::Writer& writer) {
            writer.add(kAvgPx, price).add(fix::tag::kClOrdId, *id).add(kCumQty, *quantity);
            writer.add<kExecId>(fill);
            if (version <= fix::Version::fix42) writer.add<kExecTransType>('0');
            writer.add(kLastPx, price).add(kLastQty, *quantity);
            writer.add<kOrderId>(fill).add(kOrderQty, *quantity);
            writer.add<kOrdStatus>('2').add(kSide, *side).add(kSymbol, *symbol);
            if (version >= fix::Version::fix41) {
                writer.add<kExecType>(version <= fix::Version::fix42 ? '2' : 'F').add<kLeavesQty>(0);
            }
        },
        fix::Routing::reverse_of(message));
    return sent ? fix::Verdict::accepted : fix::Verdict::application_not_available;
}

}  // namespace millpond::fixd
