/**
 * A message's number of 16 bits, for carriers that bring one back with their receipts. It is made of our id, so
 * that nobody has to keep it, and is never 0, which some send for want of any.
 */
export function messageReference(messageId: string): number {
  // FNV-1a, folded.
  let hash = 0x811c9dc5;
  for (let i = 0; i < messageId.length; i++) {
    hash = Math.imul(hash ^ messageId.charCodeAt(i), 0x01000193) >>> 0;
  }
  return (hash >>> 16) ^ (hash & 0xffff) || 1;
}
