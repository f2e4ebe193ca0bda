import { LIMITS } from '../limits';
import type { ValidationIssue } from '../validation-issue';
import type { CallCommand, Heard } from './call-control';
import type { CallLine } from './call-line';
import { runnableProgram } from './parse-voice-xml';
import { allSteps, type VoiceProgram } from './program';
import { VERB_DEFAULTS } from './verbs';

/** A step that leaves the document: where the call continues, and the fields sent there. */
export interface Leaving {
  /** As the document gives it; may be relative. */
  url: string;
  method: string | undefined;
  fields?: Readonly<Record<string, string>>;
}

/** A request for another document. */
export interface DocumentRequest {
  url: string;
  method: 'GET' | 'POST';
  /** Sent in the query, or in the body like a form. */
  fields: Readonly<Record<string, string>>;
}

export type DocumentAnswer =
  /** `url` is where it finally came from; relative addresses in it start there. */
  | { url: string; text: string }
  /** A code of docs/voice.md. */
  | { problem: string };

/** Fetches the documents that a call continues with. */
export interface CallDocuments {
  /** Never throws. */
  fetch(request: DocumentRequest, signal?: AbortSignal): Promise<DocumentAnswer>;
}

/**
 * The program to continue with; if there is none, the call is over. The document replaces the previous one, of
 * which nothing more is run (docs/voice.md).
 */
export function* fetchProgram(
  line: CallLine,
  leaving: Leaving,
): Generator<CallCommand, VoiceProgram | undefined, Heard> {
  const url = addressOf(leaving.url, line.documentUrl);
  if (url === undefined) return refuse(line, 'document_address');
  if (!line.mayFollow(url)) return undefined;
  const { document } = yield* line.issue({
    do: 'fetch_document',
    url,
    method: (leaving.method ?? VERB_DEFAULTS.Redirect.method) === 'GET' ? 'GET' : 'POST',
    fields: {
      CallStatus: 'in-progress',
      ...(line.answeredBy === undefined ? {} : { AnsweredBy: line.answeredBy }),
      ...leaving.fields,
    },
    maxMs: LIMITS.callDocumentMs,
  });
  if (line.over) return undefined;
  if (!document) return refuse(line, 'document_timeout');
  line.documentUrl = document.url;
  return runnableProgram(document.text) ?? refuse(line, 'invalid_document');
}

function refuse(line: CallLine, code: string): undefined {
  line.end('problem', code);
  return undefined;
}

/**
 * The absolute address by RFC 3986, 5.2. A message's own document has no address that others could be relative
 * to.
 */
export function addressOf(url: string, base: string | undefined): string | undefined {
  if (!URL.canParse(url, base)) return undefined;
  const { href, protocol } = new URL(url, base);
  return protocol === 'http:' || protocol === 'https:' ? href : undefined;
}

/** For a record: the document's address without its query, which may hold values for one call. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return (origin + pathname).slice(0, LIMITS.callDocumentPlaceChars);
}

/** The documents that a program may continue with, each once. */
export function otherDocuments(program: VoiceProgram): string[] {
  const urls = new Set<string>();
  for (const step of allSteps(program.steps)) {
    if (step.verb === 'Redirect') urls.add(step.url);
    else if ((step.verb === 'Gather' || step.verb === 'Record') && step.action !== undefined) {
      urls.add(step.action);
    }
  }
  return [...urls];
}

/** Warns that a preview cannot show the other documents, because an author may think that it shows the whole call. */
export function lintOtherDocuments(program: VoiceProgram): ValidationIssue[] {
  return otherDocuments(program)
    .slice(0, LIMITS.voiceFindings)
    .map((url) => ({
      path: 'body',
      code: 'other_document',
      message: `The call goes on with ${url.slice(0, LIMITS.callDocumentPlaceChars)}, which is read in the call only`,
      severity: 'warning' as const,
    }));
}
