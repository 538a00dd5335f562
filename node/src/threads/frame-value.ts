import { types } from "node:util";
import { Deserializer, Serializer } from "node:v8";
import type { MessagePort } from "node:worker_threads";

/** Objects that are moved to the other thread instead of copied. */
export type Transfer = readonly (ArrayBuffer | MessagePort)[];

type View = NodeJS.ArrayBufferView;
type ViewClass = new (buffer: ArrayBuffer, offset: number, length: number) => View;

/** Kinds of views by number. A host object in a frame begins with the number of its kind, or with PORT. */
const VIEWS: readonly string[] = [
  "Buffer",
  "DataView",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
];
const PORT = VIEWS.length;

const { get: arrayName } = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
) as { get(): string | undefined };

function kindOf(view: View): number {
  return VIEWS.indexOf(Buffer.isBuffer(view) ? "Buffer" : (arrayName.call(view) ?? "DataView"));
}

function viewOf(kind: number, buffer: ArrayBuffer, offset: number, bytes: number): View {
  const name = VIEWS[kind]!;
  if (name === "Buffer") return Buffer.from(buffer, offset, bytes);
  const type = (globalThis as unknown as Record<string, ViewClass & { BYTES_PER_ELEMENT?: number }>)[name]!;
  return new type(buffer, offset, bytes / (type.BYTES_PER_ELEMENT ?? 1));
}

/**
 * Writes a view as a host object: its kind; the position of its buffer in `moved` plus 1, or 0 if the buffer is not moved; its
 * offset and length; and its bytes, if the buffer is not moved.
 */
class FrameWriter extends Serializer {
  constructor(private readonly moved: Transfer) {
    super();
    (
      this as unknown as { _setTreatArrayBufferViewsAsHostObjects(value: boolean): void }
    )._setTreatArrayBufferViewsAsHostObjects(true);
    for (const [at, one] of moved.entries()) if (types.isArrayBuffer(one)) this.transferArrayBuffer(at, one);
  }

  _writeHostObject(object: View | MessagePort): void {
    if (!ArrayBuffer.isView(object)) {
      this.writeUint32(PORT);
      this.writeUint32(this.moved.indexOf(object));
      return;
    }
    const { buffer, byteOffset, byteLength } = object;
    const place = this.moved.indexOf(buffer as ArrayBuffer) + 1;
    this.writeUint32(kindOf(object));
    this.writeUint32(place);
    this.writeDouble(byteOffset);
    this.writeDouble(byteLength);
    if (place === 0) this.writeRawBytes(new Uint8Array(buffer, byteOffset, byteLength));
  }
}

class FrameReader extends Deserializer {
  constructor(
    frame: Uint8Array,
    private readonly moved: Transfer,
  ) {
    super(frame);
    for (const [at, one] of moved.entries()) if (types.isArrayBuffer(one)) this.transferArrayBuffer(at, one);
  }

  _readHostObject(): View | MessagePort {
    const kind = this.readUint32();
    const place = this.readUint32();
    if (kind === PORT) return this.moved[place] as MessagePort;
    const offset = this.readDouble();
    const bytes = this.readDouble();
    if (place > 0) return viewOf(kind, this.moved[place - 1] as ArrayBuffer, offset, bytes);
    // A copy: the ring will reuse the bytes.
    return viewOf(kind, new Uint8Array(this.readRawBytes(bytes)).buffer, 0, bytes);
  }
}

/** @internal Serialises a value; `valueOf` with the same `moved` restores it. */
export function frameOf(value: unknown, moved: Transfer): Uint8Array<ArrayBuffer> {
  const writer = new FrameWriter(moved);
  writer.writeHeader();
  writer.writeValue(value);
  return writer.releaseBuffer() as Uint8Array<ArrayBuffer>;
}

/** @internal Restores the value of a frame. It does not refer to the frame's memory. */
export function valueOf(frame: Uint8Array, moved: Transfer): unknown {
  const reader = new FrameReader(frame, moved);
  reader.readHeader();
  return reader.readValue();
}
