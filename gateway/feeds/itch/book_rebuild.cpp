#include "gateway/feeds/itch/book_rebuild.hpp"

#include "gateway/receive/book_rebuild_impl.hpp"

template class millpond::gateway::BookRebuild<millpond::gateway::itch::RebuildRules>;
