/**
 * A 16-bit number of a message, for carriers that return one with their receipts. It is computed from our id,
 * so that it need not be stored. It is never 0, because some carriers send 0 when they have none.
 */
export function messageReference(messageId: string): number {
  // FNV-1a, folded to 16 bits.
  let hash = 0x811c9dc5;
  for (let i = 0; i < messageId.length; i++) {
    hash = Math.imul(hash ^ messageId.charCodeAt(i), 0x01000193) >>> 0;
  }
  return (hash >>> 16) ^ (hash & 0xffff) || 1;
}
