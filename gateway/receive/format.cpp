#include "gateway/settings/format.hpp"

#include "gateway/receive/feed.hpp"

namespace millpond::gateway {

std::unique_ptr<Feed> FormatSettings::open(const FeedConfig& feed, const FeedHost& host) const {
    return kind_->open(feed, settings_, host);
}

}  // namespace millpond::gateway
