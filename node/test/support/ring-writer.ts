/** Writes a market ring and its board, with the layout of board_layout.hpp, step by step into its buffer. */
export class RingWriter {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  readonly #board: number;
  number = 0;

  constructor(
    readonly capacity: number,
    readonly slots: number,
    readonly channels = 2,
    readonly depth = 0,
  ) {
    const depthSlotBytes = depth === 0 ? 0 : Math.ceil((64 + 48 * depth) / 64) * 64;
    this.#board = 256 + capacity * 128;
    this.bytes = new Uint8Array(this.#board + 128 + channels * 128 + slots * (192 + depthSlotBytes));
    this.#view = new DataView(this.bytes.buffer);
    this.bytes.set(Buffer.from("MPBCAST\0"));
    this.u32(8, 1, 2);
    this.u64(16, capacity);
    this.u32(24, 128, 256);
    this.u64(32, 77);
    this.heartbeat(Date.now());
    this.bytes.set(Buffer.from("MPBOARD\0"), this.#board);
    this.u32(this.#board + 8, 3, 192, slots, channels, depth, depthSlotBytes);
    for (let channel = 0; channel < channels; channel++) this.u32(this.channel(channel) + 72, depth);
  }

  u32(at: number, ...values: readonly number[]): void {
    for (const [index, value] of values.entries()) this.#view.setUint32(at + 4 * index, value, true);
  }
  u64(at: number, ...values: readonly (number | bigint)[]): void {
    for (const [index, value] of values.entries()) this.#view.setBigUint64(at + 8 * index, BigInt(value), true);
  }
  heartbeat(ms: number): void {
    this.u64(72, BigInt(ms) * 1_000_000n);
  }
  state(state: number): void {
    this.u64(64, state);
  }
  slot(instrument: number): number {
    return this.#board + 128 + this.channels * 128 + instrument * 192;
  }
  entry(number: number): number {
    return 256 + (number & (this.capacity - 1)) * 128;
  }
  channel(channel: number): number {
    return this.#board + 128 + channel * 128;
  }

  name(instrument: number, symbol: string): void {
    const at = this.slot(instrument);
    this.bytes.set(Buffer.from("XNAS"), at + 144);
    this.bytes.set(Buffer.from(symbol), at + 152);
    this.u64(at + 184, 4);
    this.u64(at + 136, 1);
    this.u64(this.#board + 64, instrument + 1);
  }

  /** Writes a quote to the board, then to the ring. Prices are in 1/10000. */
  quote(instrument: number, bid: number, ask: number, channel = 0, flags = 0): void {
    const at = this.slot(instrument);
    this.#fillQuote(at + 8, instrument, bid, ask, channel, flags);
    this.u64(at, 2 * (this.number + 1));
    this.publish(1, 72, (entry) => this.#fillQuote(entry, instrument, bid, ask, channel, flags));
  }

  status(instrument: number, state: number): void {
    const fill = (at: number): void => {
      this.u32(at, instrument, 0, state);
      this.bytes.set(Buffer.from("T1  "), at + 12);
      this.u64(at + 16, 5, 6, 7, 8);
    };
    const at = this.slot(instrument);
    fill(at + 88);
    this.u64(at + 80, 2 * (this.number + 1));
    this.publish(3, 48, fill);
  }

  /** Writes a Clear of an instrument, and not the board. */
  clearOne(instrument: number): void {
    this.publish(5, 32, (at) => {
      this.u32(at, instrument, 0, 1);
      this.u64(at + 16, 9, 10);
    });
  }

  /** Writes a Clear of the whole channel. */
  clear(channel: number): void {
    this.u64(this.channel(channel), this.number + 1);
    this.publish(5, 32, (at) => {
      this.u32(at, 0xffff_ffff, channel, 1);
      this.u64(at + 16, 9, 10);
    });
  }

  trade(instrument: number, id: number | bigint = 4_711): void {
    this.publish(2, 64, (at) => {
      this.u32(at, instrument, 0);
      this.u64(at + 8, 189_250_000_000, 100, id, 0, 1_580_398_200_000_000_001n, 0, 0);
    });
  }

  /** Writes levels, [price in 1/10000, size, orders], the best ones first. mark: sequence word, by default of the newest entry. */
  depthSlot(instrument: number, bids: number[][], asks: number[][], mark = 2 * this.number, flags = 0): void {
    const depthSlotBytes = Math.ceil((64 + 48 * this.depth) / 64) * 64;
    const at = this.slot(this.slots) + instrument * depthSlotBytes;
    this.u64(at, mark);
    this.u32(at + 8, bids.length | (asks.length << 16), flags << 16);
    this.u64(at + 16, 21, 22, 23, 24);
    for (const [side, levels] of [bids, asks].entries()) {
      for (const [place, [price, size, orders]] of levels.entries()) {
        this.u64(at + 64 + 24 * (side * this.depth + place), BigInt(price!) * 100_000n, size!, orders!);
      }
    }
  }

  /** side: 1 bid, 2 ask. price: in 1/10000. */
  level(instrument: number, side: number, price: number, size: number, flags: number): void {
    this.publish(8, 64, (at) => {
      this.u32(at, instrument, flags << 16, side, 2);
      this.u64(at + 16, BigInt(price) * 100_000n, size, 3, 1_580_398_200_000_000_001n, 0, 17);
    });
  }

  /** action: 1 add, 3 cancel. */
  order(instrument: number, action: number, id: bigint, size: number, left: number, flags: number): void {
    this.publish(7, 88, (at) => {
      this.u32(at, instrument, flags << 16, action | (1 << 16), 0);
      this.u64(at + 16, id, 10_000_000_000, size, left, 0, 3, 1_580_398_200_000_000_001n, 0, 17);
    });
  }

  tradeBreak(instrument: number, id: number | bigint = 4_711): void {
    this.publish(6, 48, (at) => {
      this.u32(at, instrument, 0);
      this.u64(at + 8, id, 3, 1_580_398_200_000_000_001n, 0, 0);
    });
  }

  /** Writes to the board, then to the ring. */
  gap(channel: number, first: number, last: number, reason = 0): void {
    this.u64(this.channel(channel) + 64, this.number + 1);
    this.publish(4, 40, (at) => {
      this.u32(at, channel | (reason << 16));
      this.u64(at + 8, first, last, 11, 12);
    });
  }

  publish(kind: number, bytes: number, fill: (at: number) => void): void {
    this.begin();
    const at = this.entry(this.number);
    this.u32(at + 8, kind, bytes);
    fill(at + 16);
    this.u64(at, 2 * this.number);
    this.u64(128, this.number);
  }

  /** Marks the next entry as being written. */
  begin(): void {
    this.number++;
    this.u64(this.entry(this.number), 2 * this.number - 1);
  }

  #fillQuote(at: number, instrument: number, bid: number, ask: number, channel: number, flags: number): void {
    this.u32(at, instrument, channel | (flags << 16));
    this.u64(
      at + 8,
      BigInt(bid) * 100_000n,
      BigInt(ask) * 100_000n,
      300,
      ask === 0 ? 0 : 200,
      1_580_398_199_999_990_003n,
      1_580_398_200_000_000_001n,
      0,
      17,
    );
  }
}
