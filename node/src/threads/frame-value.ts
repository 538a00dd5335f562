import { types } from "node:util";
import { Deserializer, Serializer } from "node:v8";
import type { MessagePort } from "node:worker_threads";

/** What is moved to the other thread instead of copied. */
export type Transfer = readonly (ArrayBuffer | MessagePort)[];

type View = NodeJS.ArrayBufferView;
type ViewClass = new (buffer: ArrayBuffer, offset: number, length: number) => View;

/** A host object of a frame begins with its place in this list; of a message port, with PORT. */
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
 * A view is a host object: its kind; 0, or the place of its moved buffer and 1; its offset there; its length; and where nothing is
 * moved, its bytes.
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
    // The bytes of a ring are soon another frame's.
    return viewOf(kind, new Uint8Array(this.readRawBytes(bytes)).buffer, 0, bytes);
  }
}

/** @internal A frame that `valueOf` makes the same value of, given the same things moved. */
export function frameOf(value: unknown, moved: Transfer): Uint8Array<ArrayBuffer> {
  const writer = new FrameWriter(moved);
  writer.writeHeader();
  writer.writeValue(value);
  return writer.releaseBuffer() as Uint8Array<ArrayBuffer>;
}

/** @internal The value that `frameOf` made a frame of. Nothing of it refers to the frame. */
export function valueOf(frame: Uint8Array, moved: Transfer): unknown {
  const reader = new FrameReader(frame, moved);
  reader.readHeader();
  return reader.readValue();
}
