import type { Message } from "./message.js";
import type { Reply } from "./queue-options.js";

/**
 * One lane of a mailbox: a ring of messages and their replies, first in first out. What is taken out of the middle leaves a
 * hole until its turn.
 *
 * Memory: two references a place.
 *
 * @internal
 */
export class Lane {
  readonly messages: (Message | undefined)[];
  readonly replies: (Reply | undefined)[];
  head = 0;
  tail = 0;

  /** mask: places less one, a power of two less one. */
  constructor(readonly mask: number) {
    this.messages = new Array<Message | undefined>(mask + 1).fill(undefined);
    this.replies = new Array<Reply | undefined>(mask + 1).fill(undefined);
  }

  /** Returns the place. The lane must have a free one: see `closeHoles`. */
  put(message: Message, reply: Reply | undefined): number {
    const place = this.tail & this.mask;
    this.messages[place] = message;
    this.replies[place] = reply;
    this.tail++;
    return place;
  }

  empty(place: number): void {
    this.messages[place] = undefined;
    this.replies[place] = undefined;
  }

  /** The place of the first message from the head, which moves there; -1 where there is none. */
  first(): number {
    for (; this.head !== this.tail; this.head++) {
      const place = this.head & this.mask;
      if (this.messages[place] !== undefined) return place;
    }
    this.head = this.tail = 0;
    return -1;
  }

  placeOf(message: Message): number {
    for (let at = this.head; at !== this.tail; at++) {
      if (this.messages[at & this.mask] === message) return at & this.mask;
    }
    return -1;
  }

  /** Moves the messages together when every place is a message or a hole. `moved` is told of each one's place. */
  closeHoles(moved: (message: Message, lane: Lane, place: number) => void): void {
    if (this.tail - this.head <= this.mask) return;
    let to = this.head;
    for (let at = this.head; at !== this.tail; at++) {
      const message = this.messages[at & this.mask];
      if (message === undefined) continue;
      this.messages[to & this.mask] = message;
      this.replies[to & this.mask] = this.replies[at & this.mask];
      moved(message, this, to & this.mask);
      to++;
    }
    for (let at = to; at !== this.tail; at++) this.empty(at & this.mask);
    this.tail = to;
  }
}
