#include <cstdio>
#include <string>
#include <vector>

#include <millpond/quickfix/store_factory.hpp>

int main() {
    millpond::quickfix::StoreFactory factory{millpond::quickfix::StoreOptions{}};
    auto* const store = factory.create(FIX::SessionID{"FIX.4.4", "DESK", "VENUE"});
    store->set(1, "kept");
    std::vector<std::string> messages;
    store->get(1, 1, messages);
    std::printf("%s\n", messages.at(0).c_str());
    factory.destroy(store);
    return 0;
}
