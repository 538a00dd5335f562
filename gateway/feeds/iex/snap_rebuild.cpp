#include "gateway/feeds/iex/snap_rebuild.hpp"

#include "gateway/receive/book_rebuild_impl.hpp"

template class millpond::gateway::BookRebuild<millpond::gateway::iex::SnapRules<millpond::feed::IexDeepDecoder>>;
template class millpond::gateway::BookRebuild<millpond::gateway::iex::SnapRules<millpond::feed::IexDeepPlusDecoder>>;
