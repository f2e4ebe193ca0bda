/** Samples from a file's bytes: 16 bits, low byte first. An odd byte at the end is ignored. */
export function samplesOf(bytes: Buffer): Int16Array {
  const samples = new Int16Array(bytes.length >> 1);
  // A loop, because minutes of speech are millions of samples, and a callback for each takes fifty times as
  // long.
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i);
  return samples;
}

export function bytesOf(samples: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.byteLength);
  for (let i = 0; i < samples.length; i++) bytes.writeInt16LE(samples[i] as number, 2 * i);
  return bytes;
}
