/**
 * A map that drops the entries used longest ago once its entries weigh more than `weightMax`; uses count from when
 * it is half full. Keep only what can be read or computed again.
 */
export class BoundedCache<Value> {
  private readonly entries = new Map<string, { value: Value; weight: number }>();
  private weight = 0;

  constructor(private readonly weightMax: number) {}

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    // A Map iterates in order of insertion, so that inserting an entry again makes it the newest. While half of the
    // room is free nothing is dropped soon, and each read of a credential would cost 4 µs for it.
    if (this.weight * 2 > this.weightMax) {
      this.entries.delete(key);
      this.entries.set(key, entry);
    }
    return entry.value;
  }

  set(key: string, value: Value, weight = 1): void {
    this.delete(key);
    this.entries.set(key, { value, weight });
    this.weight += weight;
    for (const oldest of this.entries.keys()) {
      if (this.weight <= this.weightMax) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    this.weight -= entry.weight;
  }

  clear(): void {
    this.entries.clear();
    this.weight = 0;
  }

  get size(): number {
    return this.entries.size;
  }
}
