import { TEXTS } from '../texts';
import { headersOfUser } from './client';
import { problemOf, Unreachable } from './problem';

/** Saves an answer as a file. A plain link would not do, because it sends no `x-user-id`. */
export async function download(address: string, name: string): Promise<void> {
  const response = await fetch(address, { credentials: 'same-origin', headers: headersOfUser() }).catch(
    (cause) => {
      throw new Unreachable('The server could not be reached', { cause });
    },
  );
  if (!response.ok) throw await problemOf(response);
  // A session that ends cuts the answer off. What has arrived is no file of its own: the reader would take it for all.
  const file = await response.blob().catch((cause) => {
    throw new Error(TEXTS.common.cutOff, { cause });
  });
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to save by then; freed at once, some would save nothing.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
