import { SettingError } from "./checks.js";

/** 64-bit integers are read as `bigint` (i64, u64) or, exact up to 2^53 and without an allocation, as `number` (i64n, u64n). */
export type ScalarType = "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "f32" | "f64" | "i64" | "u64" | "i64n" | "u64n";
/** UTF-8 text in a field of this many bytes, padded with zeros. */
export type TextType = `text${number}`;
export type FieldType = ScalarType | TextType;
/** Field names and types in memory order, each aligned to its size, as in C++. */
export type Schema = Readonly<Record<string, FieldType>>;

type ValueOf<Type> = Type extends "i64" | "u64" ? bigint : Type extends TextType ? string : number;

/** A view of one record, whose fields are read and written in place. A value that a field cannot hold throws SettingError; f32 rounds. */
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

/** The typed arrays of a view, over one buffer. */
class View {
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
  get(this: View): unknown;
  set(this: View, value: never): void;
}

const BOUNDS: Partial<Record<FieldType, string>> = {
  i8: "a whole number from -128 to 127",
  u8: "a whole number from 0 to 255",
  i16: "a whole number from -32768 to 32767",
  u16: "a whole number from 0 to 65535",
  i32: "a whole number from -2147483648 to 2147483647",
  u32: "a whole number from 0 to 4294967295",
  i64: "a bigint from -2n ** 63n to 2n ** 63n - 1n",
  u64: "a bigint from 0n to 2n ** 64n - 1n",
  i64n: "a whole number from -(2 ** 63), below 2 ** 63",
  u64n: "a whole number from 0, below 2 ** 64",
  f32: "a number that 32 bits hold",
  f64: "a number",
};

function refuse({ name, type, bytes }: Field, value: unknown): never {
  const bound = BOUNDS[type] ?? `a string of at most ${bytes} bytes in UTF-8, without zeros`;
  throw new SettingError(name, typeof value === "bigint" ? `${value}n` : value, bound);
}

const utf8 = new TextEncoder();
// A byte order mark is kept as a character.
const text = new TextDecoder("utf-8", { ignoreBOM: true });

function isFloat(value: unknown): boolean {
  return typeof value === "number" && (Number.isFinite(Math.fround(value)) || !Number.isFinite(value));
}

/** The accessors of a field. Each type has separate ones: shared ones would access arrays of different classes, which costs more. */
function property(field: Field): Property {
  const { type, offset, bytes } = field;
  switch (type) {
    case "i8":
      return {
        get() {
          return this.i8[this.offset + offset];
        },
        set(value: number) {
          if (value !== (value << 24) >> 24) refuse(field, value);
          this.i8[this.offset + offset] = value;
        },
      };
    case "u8":
      return {
        get() {
          return this.u8[this.offset + offset];
        },
        set(value: number) {
          if (value !== (value & 0xff)) refuse(field, value);
          this.u8[this.offset + offset] = value;
        },
      };
    case "i16":
      return {
        get() {
          return this.i16[(this.offset + offset) >> 1];
        },
        set(value: number) {
          if (value !== (value << 16) >> 16) refuse(field, value);
          this.i16[(this.offset + offset) >> 1] = value;
        },
      };
    case "u16":
      return {
        get() {
          return this.u16[(this.offset + offset) >> 1];
        },
        set(value: number) {
          if (value !== (value & 0xffff)) refuse(field, value);
          this.u16[(this.offset + offset) >> 1] = value;
        },
      };
    case "i32":
      return {
        get() {
          return this.i32[(this.offset + offset) >> 2];
        },
        set(value: number) {
          if (value !== (value | 0)) refuse(field, value);
          this.i32[(this.offset + offset) >> 2] = value;
        },
      };
    case "u32":
      return {
        get() {
          return this.u32[(this.offset + offset) >> 2];
        },
        set(value: number) {
          if (value !== value >>> 0) refuse(field, value);
          this.u32[(this.offset + offset) >> 2] = value;
        },
      };
    case "f32":
      return {
        get() {
          return this.f32[(this.offset + offset) >> 2];
        },
        set(value: number) {
          if (!isFloat(value)) refuse(field, value);
          this.f32[(this.offset + offset) >> 2] = value;
        },
      };
    case "f64":
      return {
        get() {
          return this.f64[(this.offset + offset) >> 3];
        },
        set(value: number) {
          if (typeof value !== "number") refuse(field, value);
          this.f64[(this.offset + offset) >> 3] = value;
        },
      };
    case "i64":
      return {
        get() {
          return this.i64[(this.offset + offset) >> 3];
        },
        set(value: bigint) {
          if (typeof value !== "bigint" || value !== BigInt.asIntN(64, value)) refuse(field, value);
          this.i64[(this.offset + offset) >> 3] = value;
        },
      };
    case "u64":
      return {
        get() {
          return this.u64[(this.offset + offset) >> 3];
        },
        set(value: bigint) {
          if (typeof value !== "bigint" || value !== BigInt.asUintN(64, value)) refuse(field, value);
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
          const high = Math.floor(value / HIGH);
          if (high !== (high | 0) || !Number.isInteger(value)) refuse(field, value);
          const at = (this.offset + offset) >> 2;
          this.i32[at + 1] = high;
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
          const high = Math.floor(value / HIGH);
          if (high !== high >>> 0 || !Number.isInteger(value)) refuse(field, value);
          const at = (this.offset + offset) >> 2;
          this.u32[at + 1] = high;
          this.u32[at] = value;
        },
      };
    default:
      return {
        get() {
          const start = this.offset + offset;
          let ascii = "";
          for (let at = start; at < start + bytes; at++) {
            const byte = this.u8[at]!;
            if (byte === 0) break;
            if (byte > 127) return decoded(this.u8.slice(start, start + bytes));
            ascii += String.fromCharCode(byte);
          }
          return ascii;
        },
        set(value: string) {
          const start = this.offset + offset;
          let at = 0;
          if (typeof value !== "string" || value.length > bytes) refuse(field, value);
          for (; at < value.length; at++) {
            const code = value.charCodeAt(at);
            if (code === 0 || code > 127) break;
          }
          const whole = at < value.length ? encoded(field, value) : undefined;
          const length = whole?.length ?? value.length;
          for (at = 0; at < bytes; at++) {
            this.u8[start + at] = at >= length ? 0 : whole === undefined ? value.charCodeAt(at) : whole[at]!;
          }
        },
      };
  }
}

function decoded(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return text.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Refuses texts that would be read differently: with zeros, or with halves of surrogate pairs. */
function encoded(field: Field, value: string): Uint8Array {
  const bytes = utf8.encode(value);
  if (bytes.length > field.bytes || value.includes("\0") || text.decode(bytes) !== value) refuse(field, value);
  return bytes;
}

/**
 * The layout of a record: little-endian, fields aligned to their size and the record to 8 bytes, like a C++ struct of the same
 * fields.
 */
export class RecordLayout<const Fields extends Schema> {
  /** Bytes of one record, a multiple of 8. */
  readonly bytes: number;
  readonly fields: readonly Field[];
  readonly #RecordView: new (buffer: ArrayBufferLike) => View;

  constructor(schema: Fields) {
    const fields: Field[] = [];
    let end = 0;
    for (const [name, type] of Object.entries(schema)) {
      if (name in View.prototype || name === "offset" || name in SIZES || name === "toJSON") {
        throw new SettingError("field name", name, "another: a view has a member of that name");
      }
      const parts = /^text([1-9][0-9]*)$/.exec(type);
      const bytes = parts === null ? SIZES[type as ScalarType] : Number(parts[1]);
      if (bytes === undefined)
        throw new SettingError(`type of ${name}`, type, `${Object.keys(SIZES).join(", ")} or text<n>`);
      const align = parts === null ? bytes : 1;
      const offset = Math.ceil(end / align) * align;
      fields.push({ name, type, offset, bytes });
      end = offset + bytes;
    }
    this.fields = fields;
    this.bytes = Math.max(8, Math.ceil(end / 8) * 8);
    this.#RecordView = class extends View {};
    for (const field of fields) {
      Object.defineProperty(this.#RecordView.prototype, field.name, { ...property(field), enumerable: true });
    }
    const names = fields.map((field) => field.name);
    Object.defineProperty(this.#RecordView.prototype, "toJSON", {
      value(this: Record<string, unknown>) {
        return Object.fromEntries(names.map((name) => [name, this[name]]));
      },
    });
  }

  /** A view of `buffer`, which may be local, shared or mapped. Cost: ten typed arrays; make it once and move it. */
  view(buffer: ArrayBufferLike, offset = 0): RecordView<Fields> {
    return new this.#RecordView(buffer).at(offset) as unknown as RecordView<Fields>;
  }
}
