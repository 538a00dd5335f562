//! Carries the allocators of the crates below into one static library, and does the work of the ring benches with the
//! queues of others. bench/rivals/crate_queues.hpp declares what it exports.

extern crate libmimalloc_sys;
extern crate snmalloc_sys;

mod links;
mod producers;
mod stream;
