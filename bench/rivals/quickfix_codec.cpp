#include "bench/rivals/quickfix_codec.hpp"

#include <quickfix/DataDictionary.h>
#include <quickfix/Message.h>
#include <quickfix/fix44/MarketDataSnapshotFullRefresh.h>
#include <quickfix/fix44/NewOrderSingle.h>

#include <cmath>
#include <cstring>
#include <string>

namespace millpond {
namespace bench {

struct QuickfixCodec::Parts {
    FIX::DataDictionary dictionary{MILLPOND_RIVAL_DICTIONARY};
    std::string text;
};

QuickfixCodec::QuickfixCodec() : parts_(new Parts) {}
QuickfixCodec::~QuickfixCodec() = default;

namespace {

std::uint64_t digest(const std::string& value, WantedField::Kind kind) {
    switch (kind) {
        case WantedField::text: return digest_text(value.data(), value.size());
        case WantedField::integer: return static_cast<std::uint64_t>(FIX::IntConvertor::convert(value));
        case WantedField::decimal:
            return static_cast<std::uint64_t>(std::llround(FIX::DoubleConvertor::convert(value) * 10000));
        case WantedField::character:
            return static_cast<std::uint64_t>(static_cast<unsigned char>(FIX::CharConvertor::convert(value)));
    }
    return 0;
}

}  // namespace

std::uint64_t QuickfixCodec::read(Checks checks, const char* bytes, std::size_t size, const WantedField* wanted,
                                  std::size_t count) {
    const bool with_dictionary = checks == Checks::dictionary;
    try {
        parts_->text.assign(bytes, size);
        const FIX::Message message =
            with_dictionary ? FIX::Message(parts_->text, parts_->dictionary, true) : FIX::Message(parts_->text, true);
        if (with_dictionary) parts_->dictionary.validate(message);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const int tag = wanted[i].tag;
            if (wanted[i].of_first_entry) {
                FIX44::MarketDataSnapshotFullRefresh::NoMDEntries entry;
                message.getGroup(1, entry);
                sum += digest(entry.getField(tag), wanted[i].kind);
                continue;
            }
            const bool header = FIX::Message::isHeaderField(tag);
            sum += digest(header ? message.getHeader().getField(tag) : message.getField(tag), wanted[i].kind);
        }
        return sum;
    } catch (const std::exception&) {
        return 0;
    }
}

std::size_t QuickfixCodec::write(const OrderValues& order, char* out) {
    const std::string id = std::to_string(order.id);
    const FIX::UtcTimeStamp time(order.utc_ns / 1000000000, static_cast<int>(order.utc_ns % 1000000000), 9);
    FIX44::NewOrderSingle message;
    auto& header = message.getHeader();
    header.setField(FIX::MsgSeqNum(static_cast<int>(order.sequence)));
    header.setField(FIX::SenderCompID("BUYSIDE"));
    header.setField(FIX::SendingTime(time, 3));
    header.setField(FIX::TargetCompID("SELLSIDE"));
    message.setField(FIX::Account("ACCOUNT1"));
    message.setField(FIX::ClOrdID("ORD" + id));
    message.setField(FIX::HandlInst('1'));
    message.setField(FIX::OrderQty(static_cast<double>(order.quantity)));
    message.setField(FIX::OrdType('2'));
    message.setField(44, FIX::DoubleConvertor::convert(static_cast<double>(order.price) / 100.0, 2));
    message.setField(FIX::Side('1'));
    message.setField(FIX::Symbol("MSFT"));
    message.setField(FIX::TimeInForce('0'));
    message.setField(FIX::TransactTime(time, 3));
    message.toString(parts_->text);
    std::memcpy(out, parts_->text.data(), parts_->text.size());
    return parts_->text.size();
}

}  // namespace bench
}  // namespace millpond
