/**
 * A set of message ids, each with a mark, made for millions of them: it keeps 64 bits of hash per id in
 * one flat array outside the JavaScript heap. 1,000,000 ids cost 16 MiB (a Set of their strings about
 * 90 MiB) and a false "seen before" has a chance of one in 10^7 over all of them.
 */
export class IdTable {
  size = 0;
  private capacity = 4096;
  /** Two words a slot: the low half of the hash, 0 for an empty slot; the high half, its last bit the mark. */
  private slots = new Uint32Array(2 * this.capacity);

  /** Answers false when the id was there before. */
  add(id: string): boolean {
    if (this.size >= this.capacity * 0.6) this.grow();
    const { low, high } = keyOf(id);
    const at = find(this.slots, this.capacity, low, high);
    if (this.slots[at] !== 0) return false;
    this.slots[at] = low;
    this.slots[at + 1] = high;
    this.size++;
    return true;
  }

  has(id: string): boolean {
    return this.slots[this.slotOf(id)] !== 0;
  }

  mark(id: string): void {
    const at = this.slotOf(id);
    if (this.slots[at] !== 0) this.slots[at + 1] = (this.slots[at + 1] as number) | 1;
  }

  isMarked(id: string): boolean {
    const at = this.slotOf(id);
    return this.slots[at] !== 0 && ((this.slots[at + 1] as number) & 1) === 1;
  }

  private slotOf(id: string): number {
    const { low, high } = keyOf(id);
    return find(this.slots, this.capacity, low, high);
  }

  private grow(): void {
    const capacity = this.capacity * 2;
    const slots = new Uint32Array(2 * capacity);
    for (let i = 0; i < this.slots.length; i += 2) {
      const low = this.slots[i] as number;
      if (low === 0) continue;
      const high = this.slots[i + 1] as number;
      const at = find(slots, capacity, low, high);
      slots[at] = low;
      slots[at + 1] = high;
    }
    this.capacity = capacity;
    this.slots = slots;
  }
}

/** The index of the key's slot, or of the empty slot where it belongs; the capacity is a power of two. */
function find(slots: Uint32Array, capacity: number, low: number, high: number): number {
  for (let slot = low & (capacity - 1); ; slot = (slot + 1) & (capacity - 1)) {
    const at = 2 * slot;
    const found = slots[at] as number;
    if (found === 0) return at;
    if (found === low && ((slots[at + 1] as number) ^ high) >>> 1 === 0) return at;
  }
}

function keyOf(id: string): { low: number; high: number } {
  const { low, high } = hash64(id, 0);
  return { low: low === 0 ? 1 : low, high: high & ~1 };
}

/**
 * 64 well mixed bits of a text and a seed, as two unsigned halves. Not for secrets. (Two interleaved
 * multiplicative hashes with murmur3's finalizer; the same on every platform, so outcomes replay.)
 */
export function hash64(text: string, seed: number): { low: number; high: number } {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ Math.imul(seed, 0x9e3779b1);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return { low: (a ^ (a >>> 16)) >>> 0, high: (b ^ (b >>> 16)) >>> 0 };
}
