import { LIMITS } from '../limits';

/** What is wrong, or odd, with a voice document or a flow. docs/voice.md lists every code. */
export interface Finding {
  /** `body` for the document, `voiceJson.nodes.3.data.text` and the like for a flow. */
  path: string;
  code: string;
  /** Whole, with its place: a document's begin with `Line 12, column 5: `. */
  message: string;
  /** With an error the template is refused; a warning is told, and what it is about is kept as it came. */
  severity: 'error' | 'warning';
  /** Of a document: counted from 1, columns in UTF-16 units. */
  line?: number;
  column?: number;
}

/** Findings in the order they were made, no more than a person will read. */
export class Findings {
  readonly list: Finding[] = [];
  private unlisted = 0;
  private errors = 0;

  add(finding: Finding): void {
    if (finding.severity === 'error') this.errors += 1;
    if (this.list.length < LIMITS.voiceFindings) this.list.push(finding);
    else this.unlisted += 1;
  }

  get hasErrors(): boolean {
    return this.errors > 0;
  }

  /** With a last one that says how many more there are, so that nobody takes the list for complete. */
  all(path: string): Finding[] {
    if (this.unlisted === 0) return this.list;
    // An error, if what is not listed holds one: a list of warnings alone would let it pass.
    const severity = this.hasErrors ? 'error' : 'warning';
    return [...this.list, { path, code: 'more_findings', message: `And ${this.unlisted} more`, severity }];
  }
}

export const hasErrors = (findings: readonly Finding[]): boolean =>
  findings.some((finding) => finding.severity === 'error');
