import { open, rename, rm } from 'node:fs/promises';

/**
 * Replaces a file as a whole, readable by this user alone. A reader, or the next start after a crash, sees the
 * old content or the new one. The new file is flushed to disk before it is renamed, because a power cut could
 * otherwise leave it empty.
 */
export async function writePrivateFile(file: string, content: string): Promise<void> {
  const fresh = `${file}.${process.pid}.new`;
  try {
    const handle = await open(fresh, 'w', 0o600);
    try {
      // An existing file of that name would keep its mode.
      await handle.chmod(0o600);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
