import { join } from 'node:path';
import type { Config } from '../config';
import { createEspeakSynthesizer } from '../speech/espeak-synthesizer';
import { findSynthesizer } from '../speech/find-synthesizer';
import type { Synthesizer } from '../speech/synthesizer';
import { StartupError } from '../startup-error';

/** The speech engine, if one is configured; without it the process does not start. */
export async function openSpeech(
  { speech, dataDir }: Config,
  executable: string = speech,
): Promise<Synthesizer | undefined> {
  if (speech === 'none') return undefined;
  const found = await findSynthesizer(executable);
  if (!found.available) {
    throw new StartupError(
      found.reason,
      `${found.wayOut} Or unset FANFARE_SPEECH: texts are then not spoken.`,
    );
  }
  return createEspeakSynthesizer({ found, cacheDirectory: join(dataDir, 'speech') });
}
