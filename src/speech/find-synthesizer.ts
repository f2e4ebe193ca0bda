import { runEngine } from './espeak-process';
import type { EngineVoice, SynthesizerFinding } from './synthesizer';

const QUESTION = { input: '', timeoutMs: 5_000, outputBytesMax: 256 * 1_024 };
const WAY_OUT =
  'Install espeak-ng (Debian and Ubuntu: apt-get install espeak-ng; macOS: brew install espeak-ng).';

/**
 * Looks for espeak-ng when the process starts or a speaking flow is configured, because a missing voice should
 * not first show in a call. It runs the engine, because an existing file may still not work.
 */
export async function findSynthesizer(executable = 'espeak-ng'): Promise<SynthesizerFinding> {
  const [version, list] = await Promise.all([
    runEngine(executable, ['--version'], QUESTION),
    runEngine(executable, ['--voices'], QUESTION),
  ]);
  if (!version.ok || !list.ok) {
    const problem = version.ok ? (list as { problem: string }).problem : version.problem;
    const reason =
      problem === 'ENOENT'
        ? `Texts cannot be spoken: there is no program ${executable}.`
        : `Texts cannot be spoken: ${executable} does not run (${problem}).`;
    return { available: false, reason, wayOut: WAY_OUT };
  }
  const voices = parseVoices(list.output.toString('utf8'));
  if (voices.length === 0) {
    return {
      available: false,
      reason: `Texts cannot be spoken: ${executable} has no voices.`,
      wayOut: WAY_OUT,
    };
  }
  const [, number = 'unknown'] = /(\d+\.[\w.-]+)/.exec(version.output.toString('utf8')) ?? [];
  return { available: true, executable, version: number, voices };
}

/** Parses lines such as ` 5 en-us --/M English_(America) gmw/en-US (en 3)`, below a line of titles. */
function parseVoices(list: string): EngineVoice[] {
  return list.split('\n').flatMap((line) => {
    const [, priority, language] = /^\s*(\d+)\s+([a-z][a-z0-9-]*)\s/i.exec(line) ?? [];
    // The engine writes some tags with capitals and accepts them in any case.
    return language === undefined ? [] : [{ language: language.toLowerCase(), priority: Number(priority) }];
  });
}
