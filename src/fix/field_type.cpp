#include <millpond/fix/field_type.hpp>

#include <millpond/fix/utc_time.hpp>
#include <millpond/fix/value.hpp>

namespace millpond::fix {
namespace {

struct Named {
    std::string_view name;
    FieldType type;
};

constexpr Named kNames[] = {
    {"STRING", FieldType::text},
    {"CHAR", FieldType::character},
    {"PRICE", FieldType::decimal},
    {"INT", FieldType::integer},
    {"AMT", FieldType::decimal},
    {"QTY", FieldType::decimal},
    {"QUANTITY", FieldType::decimal},
    {"CURRENCY", FieldType::text},
    {"MULTIPLEVALUESTRING", FieldType::multiple},
    {"MULTIPLESTRINGVALUE", FieldType::multiple},
    {"MULTIPLECHARVALUE", FieldType::multiple},
    {"EXCHANGE", FieldType::text},
    {"UTCTIMESTAMP", FieldType::utc_timestamp},
    {"TIME", FieldType::utc_timestamp},
    {"BOOLEAN", FieldType::boolean},
    {"LOCALMKTDATE", FieldType::local_date},
    {"LOCALMKTTIME", FieldType::text},
    {"DATE", FieldType::utc_date},
    {"UTCDATE", FieldType::utc_date},
    {"UTCDATEONLY", FieldType::utc_date},
    {"UTCTIMEONLY", FieldType::utc_time},
    {"DATA", FieldType::data},
    {"XMLDATA", FieldType::data},
    {"FLOAT", FieldType::decimal},
    {"PRICEOFFSET", FieldType::decimal},
    {"PERCENTAGE", FieldType::decimal},
    {"MONTHYEAR", FieldType::text},
    {"DAYOFMONTH", FieldType::text},
    {"NUMINGROUP", FieldType::group_count},
    {"SEQNUM", FieldType::count},
    {"LENGTH", FieldType::length},
    {"TAGNUM", FieldType::integer},
    {"COUNTRY", FieldType::text},
    {"LANGUAGE", FieldType::text},
    {"TZTIMEONLY", FieldType::text},
    {"TZTIMESTAMP", FieldType::text},
    {"XID", FieldType::text},
    {"XIDREF", FieldType::text},
    {"TENOR", FieldType::text},
    {"RESERVED100PLUS", FieldType::integer},
    {"RESERVED1000PLUS", FieldType::integer},
    {"RESERVED4000PLUS", FieldType::integer},
};

/// Compares names, ignoring case and hyphens; `known` is in lower case without hyphens.
bool is_name(std::string_view known, std::string_view name) noexcept {
    std::size_t at = 0;
    for (const char c : name) {
        if (c == '-') continue;
        const auto upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        if (at == known.size() || known[at] != upper) return false;
        ++at;
    }
    return at == known.size();
}

}  // namespace

std::optional<FieldType> field_type_named(std::string_view name) noexcept {
    for (const auto& named : kNames) {
        if (is_name(named.name, name)) return named.type;
    }
    return std::nullopt;
}

std::string_view name(FieldType type) noexcept {
    switch (type) {
        case FieldType::text: return "text";
        case FieldType::character: return "character";
        case FieldType::boolean: return "boolean";
        case FieldType::integer: return "integer";
        case FieldType::count: return "count";
        case FieldType::group_count: return "group count";
        case FieldType::decimal: return "decimal";
        case FieldType::multiple: return "multiple";
        case FieldType::utc_timestamp: return "UTC timestamp";
        case FieldType::utc_time: return "UTC time";
        case FieldType::utc_date: return "UTC date";
        case FieldType::local_date: return "local date";
        case FieldType::data: return "data";
        case FieldType::length: return "length";
    }
    return "unknown";
}

bool well_formed(FieldType type, std::string_view value) noexcept {
    switch (type) {
        case FieldType::text:
        case FieldType::multiple:
        case FieldType::data: return true;
        case FieldType::character: return value.size() == 1;
        case FieldType::boolean: return parse_bool(value).has_value();
        case FieldType::integer: return is_integer(value);
        case FieldType::count:
        case FieldType::length:
        case FieldType::group_count: return parse_unsigned(value).has_value();
        case FieldType::decimal: return is_decimal(value);
        case FieldType::utc_timestamp: return is_utc_timestamp(value);
        case FieldType::utc_time: return parse_utc_time(value).has_value();
        case FieldType::utc_date:
        case FieldType::local_date: return is_utc_date(value);
    }
    return false;
}

}  // namespace millpond::fix
