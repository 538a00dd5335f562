import { SettingError } from "./pool-error.js";

/** Whole numbers of 64 bits come as `bigint` (i64, u64) or, exact up to 2^53, as `number` without an allocation (i64n, u64n). */
export type ScalarType = "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "f32" | "f64" | "i64" | "u64" | "i64n" | "u64n";
/** Text of at most so many one-byte characters, padded with zeros. */
export type TextType = `text${number}`;
export type FieldType = ScalarType | TextType;
/** Field names and types, in memory order; each at a multiple of its size, as in C++. */
export type Schema = Readonly<Record<string, FieldType>>;

type ValueOf<Type> = Type extends "i64" | "u64" ? bigint : Type extends TextType ? string : number;

/** A window on one record: its fields are read and written in place. */
export type RecordView<Fields extends Schema> = Cursor & { -readonly [Name in keyof Fields]: ValueOf<Fields[Name]> };

/** The position of a view. */
export interface Cursor {
  /** Byte offset of the record in its buffer. */
  readonly offset: number;
  /** Moves to the record at `offset`, a multiple of 8, and returns the view. */
  at(offset: number): this;
  /** A plain object with the fields' values. */
  toJSON(): Record<string, unknown>;
}

const SIZES: Record<ScalarType, number> = {
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 4,
  u32: 4,
  f32: 4,
  f64: 8,
  i64: 8,
  u64: 8,
  i64n: 8,
  u64n: 8,
};
const HIGH = 2 ** 32;

interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly offset: number;
  readonly bytes: number;
}

/** The typed arrays that a view looks through, over one buffer. */
class Window {
  readonly i8: Int8Array;
  readonly u8: Uint8Array;
  readonly i16: Int16Array;
  readonly u16: Uint16Array;
  readonly i32: Int32Array;
  readonly u32: Uint32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i64: BigInt64Array;
  readonly u64: BigUint64Array;
  offset = 0;

  constructor(buffer: ArrayBufferLike) {
    const whole = buffer.byteLength & ~7;
    this.i8 = new Int8Array(buffer, 0, whole);
    this.u8 = new Uint8Array(buffer, 0, whole);
    this.i16 = new Int16Array(buffer, 0, whole >> 1);
    this.u16 = new Uint16Array(buffer, 0, whole >> 1);
    this.i32 = new Int32Array(buffer, 0, whole >> 2);
    this.u32 = new Uint32Array(buffer, 0, whole >> 2);
    this.f32 = new Float32Array(buffer, 0, whole >> 2);
    this.f64 = new Float64Array(buffer, 0, whole >> 3);
    this.i64 = new BigInt64Array(buffer, 0, whole >> 3);
    this.u64 = new BigUint64Array(buffer, 0, whole >> 3);
  }

  at(offset: number): this {
    this.offset = offset;
    return this;
  }
}

interface Property {
  get(this: Window): unknown;
  set(this: Window, value: never): void;
}

function property({ type, offset, bytes }: Field): Property {
  switch (type) {
    case "i8":
      return {
        get() {
          return this.i8[this.offset + offset];
        },
        set(value: number) {
          this.i8[this.offset + offset] = value;
        },
      };
    case "u8":
      return {
        get() {
          return this.u8[this.offset + offset];
        },
        set(value: number) {
          this.u8[this.offset + offset] = value;
        },
      };
    case "i16":
      return {
        get() {
          return this.i16[(this.offset + offset) >> 1];
        },
        set(value: number) {
          this.i16[(this.offset + offset) >> 1] = value;
        },
      };
    case "u16":
      return {
        get() {
          return this.u16[(this.offset + offset) >> 1];
        },
        set(value: number) {
          this.u16[(this.offset + offset) >> 1] = value;
        },
      };
    case "i32":
      return {
        get() {
          return this.i32[(this.offset + offset) >> 2];
        },
        set(value: number) {
          this.i32[(this.offset + offset) >> 2] = value;
        },
      };
    case "u32":
      return {
        get() {
          return this.u32[(this.offset + offset) >> 2];
        },
        set(value: number) {
          this.u32[(this.offset + offset) >> 2] = value;
        },
      };
    case "f32":
      return {
        get() {
          return this.f32[(this.offset + offset) >> 2];
        },
        set(value: number) {
          this.f32[(this.offset + offset) >> 2] = value;
        },
      };
    case "f64":
      return {
        get() {
          return this.f64[(this.offset + offset) >> 3];
        },
        set(value: number) {
          this.f64[(this.offset + offset) >> 3] = value;
        },
      };
    case "i64":
      return {
        get() {
          return this.i64[(this.offset + offset) >> 3];
        },
        set(value: bigint) {
          this.i64[(this.offset + offset) >> 3] = value;
        },
      };
    case "u64":
      return {
        get() {
          return this.u64[(this.offset + offset) >> 3];
        },
        set(value: bigint) {
          this.u64[(this.offset + offset) >> 3] = value;
        },
      };
    case "i64n":
      return {
        get() {
          const at = (this.offset + offset) >> 2;
          return this.i32[at + 1]! * HIGH + this.u32[at]!;
        },
        set(value: number) {
          const at = (this.offset + offset) >> 2;
          this.i32[at + 1] = Math.floor(value / HIGH);
          this.u32[at] = value;
        },
      };
    case "u64n":
      return {
        get() {
          const at = (this.offset + offset) >> 2;
          return this.u32[at + 1]! * HIGH + this.u32[at]!;
        },
        set(value: number) {
          const at = (this.offset + offset) >> 2;
          this.u32[at + 1] = Math.floor(value / HIGH);
          this.u32[at] = value;
        },
      };
    default:
      return {
        get() {
          const start = this.offset + offset;
          let text = "";
          for (let at = start; at < start + bytes && this.u8[at] !== 0; at++) text += String.fromCharCode(this.u8[at]!);
          return text;
        },
        set(value: string) {
          if (value.length > bytes) throw new SettingError("text", value, `at most ${bytes} characters`);
          const start = this.offset + offset;
          for (let at = 0; at < bytes; at++) this.u8[start + at] = at < value.length ? value.charCodeAt(at) : 0;
        },
      };
  }
}

/**
 * The layout of a record: little-endian, fields at multiples of their size and the record at a multiple of 8, which is how
 * C++ lays out a struct of the same fields.
 */
export class RecordLayout<const Fields extends Schema> {
  /** Bytes of one record, a multiple of 8. */
  readonly bytes: number;
  readonly fields: readonly Field[];
  readonly #View: new (buffer: ArrayBufferLike) => Window;

  constructor(schema: Fields) {
    const fields: Field[] = [];
    let end = 0;
    for (const [name, type] of Object.entries(schema)) {
      if (name in Window.prototype || name === "offset" || name in SIZES || name === "toJSON") {
        throw new SettingError("field name", name, "another: a view has a member of that name");
      }
      const text = /^text([1-9][0-9]*)$/.exec(type);
      const bytes = text === null ? SIZES[type as ScalarType] : Number(text[1]);
      if (bytes === undefined)
        throw new SettingError(`type of ${name}`, type, `${Object.keys(SIZES).join(", ")} or text<n>`);
      const align = text === null ? bytes : 1;
      const offset = Math.ceil(end / align) * align;
      fields.push({ name, type, offset, bytes });
      end = offset + bytes;
    }
    this.fields = fields;
    this.bytes = Math.max(8, Math.ceil(end / 8) * 8);
    this.#View = class extends Window {};
    for (const field of fields) {
      Object.defineProperty(this.#View.prototype, field.name, { ...property(field), enumerable: true });
    }
    const names = fields.map((field) => field.name);
    Object.defineProperty(this.#View.prototype, "toJSON", {
      value(this: Record<string, unknown>) {
        return Object.fromEntries(names.map((name) => [name, this[name]]));
      },
    });
  }

  /** A window over `buffer`, local, shared or mapped. Cost: some typed arrays; make it once and move it. */
  view(buffer: ArrayBufferLike, offset = 0): RecordView<Fields> {
    return new this.#View(buffer).at(offset) as unknown as RecordView<Fields>;
  }
}
