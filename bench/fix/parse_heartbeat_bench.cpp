#include "bench/fix/parse.hpp"

int main() {
    using millpond::bench::WantedField;
    constexpr WantedField kWanted[] = {{8, WantedField::text, false},       {9, WantedField::integer, false},
                                       {35, WantedField::character, false}, {34, WantedField::integer, false},
                                       {49, WantedField::text, false},      {52, WantedField::text, false},
                                       {56, WantedField::text, false},      {112, WantedField::integer, false}};
    millpond::bench::ask_parse(millpond::bench::fix_heartbeats(), kWanted, 6.0);
}
