#include <cstdio>

#include <millpond/fix/dictionary_xml.hpp>

int main() {
    const auto dictionary = millpond::fix::read_dictionary(
        "<fix type='FIX' major='4' minor='4'><header/><trailer/><messages/><components/>"
        "<fields><field number='11' name='ClOrdID' type='STRING'/></fields></fix>");
    std::printf("%s\n", dictionary.field(11)->name.c_str());
    return 0;
}
