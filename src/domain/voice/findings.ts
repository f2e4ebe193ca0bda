import { LIMITS } from '../limits';
import type { ValidationIssue } from '../validation-issue';

/**
 * A problem in a voice document, whose path is `body`. Its message begins with its place, `Line 12, column 5:
 * `; both are counted from 1, columns in UTF-16 units. docs/voice.md lists every code, including those of
 * flows, whose paths look like `voiceJson.nodes.3.data.text`.
 */
export interface DocumentFinding extends ValidationIssue {
  line: number;
  column: number;
}

/** Findings in the order they were made, up to the number that a person will read. */
export class Findings<One extends ValidationIssue = ValidationIssue> {
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

  /**
   * The findings. If there are more, a last one made by `more` says so, because the list would otherwise look
   * complete.
   */
  all(more: (message: string, severity: ValidationIssue['severity']) => One): One[] {
    if (this.unlisted === 0) return this.list;
    // It is an error if an unlisted finding is one, because a list of warnings alone would let the document
    // pass.
    return [...this.list, more(`And ${this.unlisted} more`, this.hasErrors ? 'error' : 'warning')];
  }
}

export const hasErrors = (findings: readonly ValidationIssue[]): boolean =>
  findings.some((finding) => finding.severity === 'error');
