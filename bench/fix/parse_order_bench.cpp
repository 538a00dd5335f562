#include "bench/fix/parse.hpp"

int main() {
    using millpond::bench::WantedField;
    constexpr WantedField kWanted[] = {{34, WantedField::integer, false}, {49, WantedField::text, false},
                                       {56, WantedField::text, false},    {11, WantedField::text, false},
                                       {55, WantedField::text, false},    {54, WantedField::character, false},
                                       {38, WantedField::integer, false}, {44, WantedField::decimal, false}};
    millpond::bench::ask_parse(millpond::bench::fix_orders(), kWanted, 6.0);
}
