#include "bench/fix/parse.hpp"

int main() {
    using millpond::bench::WantedField;
    constexpr WantedField kWanted[] = {{34, WantedField::integer, false}, {49, WantedField::text, false},
                                       {56, WantedField::text, false},    {55, WantedField::text, false},
                                       {262, WantedField::text, false},   {268, WantedField::integer, false},
                                       {270, WantedField::decimal, true}, {271, WantedField::integer, true}};
    millpond::bench::ask_parse(millpond::bench::fix_market_data(), kWanted, 11.0);
}
