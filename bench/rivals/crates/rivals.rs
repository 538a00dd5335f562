//! Nothing of its own: it carries the allocators of the crates below into one static library.
#![no_std]

extern crate libmimalloc_sys;
extern crate snmalloc_sys;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
