#include "bench/fix/parse.hpp"

int main() {
    using millpond::bench::WantedField;
    constexpr WantedField kWanted[] = {{34, WantedField::integer, false},    {11, WantedField::text, false},
                                       {37, WantedField::text, false},       {17, WantedField::text, false},
                                       {150, WantedField::character, false}, {32, WantedField::integer, false},
                                       {31, WantedField::decimal, false},    {55, WantedField::text, false}};
    millpond::bench::ask_parse(millpond::bench::fix_reports(), kWanted, 6.0);
}
