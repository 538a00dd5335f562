import { DefaultDeserializer } from "node:v8";

/** What a view is made of again, outside the ring. */
type HostReader = { _readHostObject(): NodeJS.ArrayBufferView };

/** `node:v8` makes views of the bytes that it is given; those of a ring are soon another frame's. */
class Copying extends DefaultDeserializer {
  _readHostObject(): NodeJS.ArrayBufferView {
    const view = (DefaultDeserializer.prototype as unknown as HostReader)._readHostObject.call(this);
    if (!(view instanceof DataView)) return Uint8Array.prototype.slice.call(view) as NodeJS.ArrayBufferView;
    return new DataView(new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice().buffer);
  }
}

/** @internal The value that `serialize` made a frame of. Nothing of it refers to the frame. */
export function valueOf(frame: Uint8Array): unknown {
  const reader = new Copying(frame);
  reader.readHeader();
  return reader.readValue();
}
