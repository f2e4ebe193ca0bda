import type { Finding } from '../finding';
import { LIMITS } from '../limits';

/**
 * Of a voice document, whose path is `body`. Its message begins with its place, `Line 12, column 5: `;
 * both are counted from 1, columns in UTF-16 units. docs/voice.md lists every code, also of flows, whose
 * paths are `voiceJson.nodes.3.data.text` and the like.
 */
export interface DocumentFinding extends Finding {
  line: number;
  column: number;
}

/** Findings in the order they were made, no more than a person will read. */
export class Findings<One extends Finding = Finding> {
  private readonly list: One[] = [];
  private unlisted = 0;
  private errors = 0;

  add(finding: One): void {
    if (finding.severity === 'error') this.errors += 1;
    if (this.list.length < LIMITS.voiceFindings) this.list.push(finding);
    else this.unlisted += 1;
  }

  get hasErrors(): boolean {
    return this.errors > 0;
  }

  /** With a last one, made by `more`, when there are others, so that nobody takes the list for complete. */
  all(more: (message: string, severity: Finding['severity']) => One): One[] {
    if (this.unlisted === 0) return this.list;
    // An error, if what is not listed holds one: a list of warnings alone would let it pass.
    return [...this.list, more(`And ${this.unlisted} more`, this.hasErrors ? 'error' : 'warning')];
  }
}

export const hasErrors = (findings: readonly Finding[]): boolean =>
  findings.some((finding) => finding.severity === 'error');
