// Source: FIX 4.4, field and message definitions.
#include "fixd/print/fix_names.hpp"

namespace millpond::fixd {
namespace {

struct FieldName {
    fix::Tag tag;
    std::string_view name;
};
constexpr FieldName kFields[] = {
    {1, "Account"},
    {6, "AvgPx"},
    {11, "ClOrdID"},
    {14, "CumQty"},
    {15, "Currency"},
    {17, "ExecID"},
    {18, "ExecInst"},
    {19, "ExecRefID"},
    {20, "ExecTransType"},
    {21, "HandlInst"},
    {22, "SecurityIDSource"},
    {30, "LastMkt"},
    {31, "LastPx"},
    {32, "LastQty"},
    {33, "NoLinesOfText"},
    {37, "OrderID"},
    {38, "OrderQty"},
    {39, "OrdStatus"},
    {40, "OrdType"},
    {41, "OrigClOrdID"},
    {44, "Price"},
    {48, "SecurityID"},
    {54, "Side"},
    {55, "Symbol"},
    {59, "TimeInForce"},
    {60, "TransactTime"},
    {64, "SettlDate"},
    {99, "StopPx"},
    {100, "ExDestination"},
    {102, "CxlRejReason"},
    {103, "OrdRejReason"},
    {126, "ExpireTime"},
    {146, "NoRelatedSym"},
    {150, "ExecType"},
    {151, "LeavesQty"},
    {167, "SecurityType"},
    {200, "MaturityMonthYear"},
    {207, "SecurityExchange"},
    {262, "MDReqID"},
    {263, "SubscriptionRequestType"},
    {264, "MarketDepth"},
    {265, "MDUpdateType"},
    {267, "NoMDEntryTypes"},
    {268, "NoMDEntries"},
    {269, "MDEntryType"},
    {270, "MDEntryPx"},
    {271, "MDEntrySize"},
    {272, "MDEntryDate"},
    {273, "MDEntryTime"},
    {278, "MDEntryID"},
    {279, "MDUpdateAction"},
    {290, "MDEntryPositionNo"},
    {336, "TradingSessionID"},
    {379, "BusinessRejectRefID"},
    {380, "BusinessRejectReason"},
    {386, "NoTradingSessions"},
    {434, "CxlRejResponseTo"},
    {447, "PartyIDSource"},
    {448, "PartyID"},
    {452, "PartyRole"},
    {453, "NoPartyIDs"},
    {461, "CFICode"},
    {526, "SecondaryClOrdID"},
    {528, "OrderCapacity"},
    {541, "MaturityDate"},
};

struct MessageName {
    std::string_view type;
    std::string_view name;
};
constexpr MessageName kMessages[] = {
    {"6", "IndicationOfInterest"},
    {"7", "Advertisement"},
    {"8", "ExecutionReport"},
    {"9", "OrderCancelReject"},
    {"B", "News"},
    {"C", "Email"},
    {"D", "NewOrderSingle"},
    {"E", "NewOrderList"},
    {"F", "OrderCancelRequest"},
    {"G", "OrderCancelReplaceRequest"},
    {"H", "OrderStatusRequest"},
    {"J", "AllocationInstruction"},
    {"Q", "DontKnowTrade"},
    {"R", "QuoteRequest"},
    {"S", "Quote"},
    {"V", "MarketDataRequest"},
    {"W", "MarketDataSnapshotFullRefresh"},
    {"X", "MarketDataIncrementalRefresh"},
    {"Y", "MarketDataRequestReject"},
    {"Z", "QuoteCancel"},
    {"c", "SecurityDefinitionRequest"},
    {"d", "SecurityDefinition"},
    {"f", "SecurityStatus"},
    {"g", "TradingSessionStatusRequest"},
    {"h", "TradingSessionStatus"},
    {"i", "MassQuote"},
    {"j", "BusinessMessageReject"},
    {"q", "OrderMassCancelRequest"},
    {"r", "OrderMassCancelReport"},
    {"x", "SecurityListRequest"},
    {"y", "SecurityList"},
    {"AE", "TradeCaptureReport"},
};

struct ValueName {
    fix::Tag tag;
    std::string_view value;
    std::string_view name;
};
constexpr ValueName kValues[] = {
    {39, "0", "New"},
    {39, "1", "Partially filled"},
    {39, "2", "Filled"},
    {39, "4", "Canceled"},
    {39, "5", "Replaced"},
    {39, "6", "Pending cancel"},
    {39, "8", "Rejected"},
    {39, "A", "Pending new"},
    {39, "C", "Expired"},
    {40, "1", "Market"},
    {40, "2", "Limit"},
    {40, "3", "Stop"},
    {40, "4", "Stop limit"},
    {54, "1", "Buy"},
    {54, "2", "Sell"},
    {54, "5", "Sell short"},
    {59, "0", "Day"},
    {59, "1", "Good till cancel"},
    {59, "3", "Immediate or cancel"},
    {59, "4", "Fill or kill"},
    {150, "0", "New"},
    {150, "1", "Partial fill"},
    {150, "2", "Fill"},
    {150, "4", "Canceled"},
    {150, "5", "Replaced"},
    {150, "8", "Rejected"},
    {150, "F", "Trade"},
    {269, "0", "Bid"},
    {269, "1", "Offer"},
    {269, "2", "Trade"},
    {279, "0", "New"},
    {279, "1", "Change"},
    {279, "2", "Delete"},
    {373, "0", "Invalid tag number"},
    {373, "1", "Required tag missing"},
    {373, "2", "Tag not defined for this message type"},
    {373, "4", "Tag specified without a value"},
    {373, "5", "Value is incorrect"},
    {373, "6", "Incorrect data format"},
    {373, "9", "CompID problem"},
    {373, "10", "SendingTime accuracy problem"},
    {373, "11", "Invalid MsgType"},
    {380, "3", "Unsupported message type"},
};

}  // namespace

std::string_view common_field_name(fix::Tag tag) noexcept {
    for (const auto& field : kFields) {
        if (field.tag == tag) return field.name;
    }
    return {};
}

std::string_view common_message_name(std::string_view type) noexcept {
    for (const auto& message : kMessages) {
        if (message.type == type) return message.name;
    }
    return {};
}

std::string_view common_value_name(fix::Tag tag, std::string_view value) noexcept {
    for (const auto& known : kValues) {
        if (known.tag == tag && known.value == value) return known.name;
    }
    return {};
}

}  // namespace millpond::fixd
