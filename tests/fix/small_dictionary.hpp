#pragma once

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix {

/// A small variant of FIX 4.4: an order with a group of parties, each with a group of sub-ids.
inline Dictionary small_dictionary() {
    auto dictionary = Dictionary::session_level(Version::fix44);
    dictionary.set_complete(true);
    dictionary.define_field(11, "ClOrdID", FieldType::text);
    dictionary.define_field(18, "ExecInst", FieldType::multiple).values = {{"1", ""}, {"2", ""}, {"G", ""}};
    dictionary.define_field(38, "OrderQty", FieldType::decimal);
    dictionary.define_field(40, "OrdType", FieldType::character).values = {{"1", "MARKET"}, {"2", "LIMIT"}};
    dictionary.define_field(44, "Price", FieldType::decimal);
    dictionary.define_field(55, "Symbol", FieldType::text);
    dictionary.define_field(60, "TransactTime", FieldType::utc_timestamp);
    dictionary.define_field(448, "PartyID", FieldType::text);
    dictionary.define_field(452, "PartyRole", FieldType::integer);
    dictionary.define_field(453, "NoPartyIDs", FieldType::group_count);
    dictionary.define_field(523, "PartySubID", FieldType::text);
    dictionary.define_field(802, "NoPartySubIDs", FieldType::group_count);
    auto& order = dictionary.define_message("D", "NewOrderSingle", false).fields;
    order.add(11, true);
    order.add(40, true);
    for (const Tag tag : {18U, 38U, 44U, 55U, 58U, 60U}) order.add(tag, false);
    auto& parties = order.add_group(453, false);
    parties.add(448, true);
    parties.add(452, true);
    parties.add_group(802, false).add(523, true);
    return dictionary;
}

}  // namespace millpond::fix
