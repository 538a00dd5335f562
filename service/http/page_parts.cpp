#include "service/http/page_parts.hpp"

#include <chrono>
#include <utility>

namespace millpond::http {

void PageParts::add(Make page) {
    pages_.push_back(std::move(page));
    if (pages_.size() == 1) schedule();
}

void PageParts::schedule() {
    pause_.expires_after(std::chrono::milliseconds{1});
    pause_.async_wait([this](boost::system::error_code error) {
        if (error) return;
        auto page = std::move(pages_.front());
        pages_.pop_front();
        if (page()) pages_.push_back(std::move(page));
        if (!pages_.empty()) schedule();
    });
}

}  // namespace millpond::http
