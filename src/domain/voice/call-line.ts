import { LIMITS } from '../limits';
import type { AnsweredBy, Detection } from './answer-detection/detection';
import type { CallCommand, CallReport, Heard, TimedCommand } from './call-control';
import { placeOf } from './call-documents';
import {
  type CallEndReason,
  type CallOutcome,
  type CallRecord,
  createSaid,
  type Entered,
} from './call-record';
import type { Step } from './program';

/** The state of one call so far, and the only way to give it commands. */
export class CallLine {
  nowMs = 0;
  /** Set once: why the call ends, or has ended. */
  over: { reason: CallEndReason; code?: string | undefined } | undefined;
  detections: Detection[] = [];
  /** A message is being left: it is said from its beginning to a machine. */
  leaving = false;
  optedOut = false;
  /** Address of the document that is being run; the message's own has none. */
  documentUrl: string | undefined;
  private answeredAtMs: number | undefined;
  private deadlineMs = Number.POSITIVE_INFINITY;
  private commands = 0;
  private readonly entered: Entered[] = [];
  private readonly recordings: { reference: string; durationMs: number }[] = [];
  private readonly documents: string[] = [];
  private readonly kept = createSaid();

  end(reason: CallEndReason, code?: string): void {
    if (this.over) return;
    // An opt-out stays the outcome even if a later step fails.
    const isOptOut = this.optedOut && (reason === 'finished' || reason === 'problem');
    this.over = isOptOut ? { reason: 'opted_out' } : { reason, code };
  }

  answered(maxMs: number): void {
    this.over = undefined;
    this.answeredAtMs = this.nowMs;
    this.deadlineMs = this.nowMs + maxMs;
  }

  get answeredBy(): AnsweredBy | undefined {
    return this.detections.at(-1)?.answeredBy;
  }

  /** Only who answered matters to the rules; the details belong to the detector. */
  detected(answeredBy: AnsweredBy): void {
    this.detections = [...this.detections, { answeredBy } as Detection];
  }

  /** Counts a step that may take no time. */
  mayGoOn(): boolean {
    this.commands += 1;
    if (this.commands > LIMITS.callCommands) this.end('too_many_commands');
    return this.over === undefined;
  }

  /** Counts a document that is fetched. */
  mayFollow(url: string): boolean {
    if (this.documents.length >= LIMITS.callDocuments) this.end('too_many_documents');
    else this.documents.push(placeOf(url));
    return this.over === undefined;
  }

  *issue(command: TimedCommand): Generator<CallCommand, Heard, Heard> {
    if (!this.mayGoOn()) return { atMs: this.nowMs };
    const maxMs = Math.max(0, Math.min(command.maxMs, this.deadlineMs - this.nowMs));
    const heard = yield { ...command, maxMs };
    this.nowMs = Math.max(this.nowMs, heard.atMs);
    if (heard.hungUp) this.end('callee_hung_up');
    else if (heard.problem !== undefined) this.end('problem', heard.problem);
    else if (this.nowMs >= this.deadlineMs) this.end('too_long');
    return heard;
  }

  *report(report: CallReport): Generator<CallCommand, void, Heard> {
    yield { do: 'report', report };
  }

  note(step: Step): void {
    this.kept.note(step);
  }

  /** Which document a question belongs to, if it is not the message's. */
  where(): { document?: number } {
    return this.documents.length === 0 ? {} : { document: this.documents.length };
  }

  /** Returns false when no more inputs are kept. */
  enter(entered: Entered): boolean {
    if (entered.optedOut) this.optedOut = true;
    // An opt-out is kept in any case.
    if (this.entered.length >= LIMITS.callEntries && !entered.optedOut) return false;
    this.entered.push(entered);
    return true;
  }

  keepRecording(recording: { reference: string; durationMs: number }): boolean {
    if (this.recordings.length >= LIMITS.callEntries) return false;
    this.recordings.push(recording);
    return true;
  }

  record(end: CallRecord['end']): CallRecord {
    const { reason, code } = this.over ?? { reason: 'finished' };
    const { entered, recordings, documents, answeredAtMs } = this;
    return {
      end,
      reason,
      ...(code === undefined ? {} : { code }),
      ...(answeredAtMs === undefined
        ? {}
        : { answeredAtMs, answeredBy: this.answeredBy ?? 'unknown', outcome: this.outcome(reason) }),
      endedAtMs: this.nowMs,
      entered,
      said: this.kept.said,
      recordings,
      documents,
    };
  }

  /** A message counts as left only when it was said to its end. */
  private outcome(reason: CallEndReason): CallOutcome {
    if (this.optedOut) return 'opted_out';
    if (this.leaving && reason === 'finished') return 'voicemail_left';
    const isMachine = this.detections.some(
      ({ answeredBy }) => answeredBy !== 'human' && answeredBy !== 'unknown',
    );
    return isMachine ? 'machine' : 'human';
  }
}
