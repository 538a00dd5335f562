//! crossbeam's queue of 112-byte messages from many producers to one consumer, called from C++.

use crate::links::Message;
use crossbeam_queue::ArrayQueue;

#[no_mangle]
pub extern "C" fn millpond_crossbeam_make(capacity: usize) -> *mut ArrayQueue<Message> {
    Box::into_raw(Box::new(ArrayQueue::new(capacity)))
}

/// # Safety
/// `queue` is one of millpond_crossbeam_make and is used by no thread any more.
#[no_mangle]
pub unsafe extern "C" fn millpond_crossbeam_free(queue: *mut ArrayQueue<Message>) {
    drop(Box::from_raw(queue));
}

/// # Safety
/// `queue` is one of millpond_crossbeam_make, `message` points to one.
#[no_mangle]
pub unsafe extern "C" fn millpond_crossbeam_push(queue: *const ArrayQueue<Message>, message: *const Message) -> bool {
    (*queue).push(*message).is_ok()
}

/// # Safety
/// `queue` is one of millpond_crossbeam_make, `into` points to room for a message.
#[no_mangle]
pub unsafe extern "C" fn millpond_crossbeam_pop(queue: *const ArrayQueue<Message>, into: *mut Message) -> bool {
    (*queue).pop().map(|message| *into = message).is_some()
}
