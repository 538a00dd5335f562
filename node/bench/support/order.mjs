/** A message of six fields, as in a program without a pool. */
export class Order {
  constructor(path, body, meta) {
    this.path = path;
    this.body = body;
    this.meta = meta;
    this.price = 0;
    this.size = 0;
    this.side = 0;
  }
}
