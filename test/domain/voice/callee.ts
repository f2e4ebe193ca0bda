import type { CallCommand, CallControl, CallReport, Heard } from '../../../src/domain/voice/call-control';

/** What a callee does at a command; what is not said is that it takes all the time it may, at most a second. */
export type Doing = Partial<Heard> & { takesMs?: number };

/** A callee who does one thing after the other, and remembers what was heard. */
export class ScriptedCallee implements CallControl {
  readonly heard: CallCommand[] = [];
  readonly reports: CallReport[] = [];
  private nowMs = 0;

  constructor(private readonly doing: (command: CallCommand, n: number) => Doing | undefined) {}

  carryOut(command: CallCommand): Heard {
    if (command.do === 'report') {
      this.reports.push(command.report);
      return { atMs: this.nowMs };
    }
    const does = this.doing(command, this.heard.length) ?? {};
    this.heard.push(command);
    const maxMs = 'maxMs' in command ? command.maxMs : 0;
    this.nowMs += does.takesMs ?? Math.min(1_000, maxMs);
    return { atMs: this.nowMs, ...does };
  }

  /** What was said, in order. */
  get said(): string[] {
    return this.heard.flatMap((command) => (command.do === 'speak' ? [command.text] : []));
  }
}

/** Picks up, is a person, and presses these keys when asked, one at each waiting. */
export function person(...keys: (string | undefined)[]): ScriptedCallee {
  const left = [...keys];
  return new ScriptedCallee((command) => {
    if (command.do === 'dial') return { dialed: 'answered', takesMs: 4_000 };
    if (command.do === 'listen') return { detection: { answeredBy: 'human' }, takesMs: 1_500 };
    if (command.do === 'wait_key') return { key: left.shift() };
    return undefined;
  });
}
