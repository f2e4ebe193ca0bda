import type { Finding } from '../finding';
import { LIMITS } from '../limits';
import type { CallCommand, Heard } from './call-control';
import type { CallLine } from './call-line';
import { runnableProgram } from './parse-voice-xml';
import { allSteps, type VoiceProgram } from './program';
import { VERB_DEFAULTS } from './verbs';

/** Out of the document: where the call goes on, and what is told there. */
export interface Leaving {
  /** As the document has it; perhaps relative. */
  url: string;
  method: string | undefined;
  fields?: Readonly<Record<string, string>>;
}

/** What is asked of whoever has another document. */
export interface DocumentRequest {
  url: string;
  method: 'GET' | 'POST';
  /** In the query, or in the body as a form has them. */
  fields: Readonly<Record<string, string>>;
}

export type DocumentAnswer =
  /** `url` is where it came from in the end; what is relative in it counts from there. */
  | { url: string; text: string }
  /** A code of docs/voice.md. */
  | { problem: string };

/** Fetches what a call goes on with. */
export interface CallDocuments {
  /** Never throws. */
  fetch(request: DocumentRequest, signal?: AbortSignal): Promise<DocumentAnswer>;
}

/**
 * The program to go on with, or none, and then the call is over. The document takes the place of the one
 * before, of which nothing more is run (docs/voice.md).
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

/** Absolute, by RFC 3986, 5.2; the document of a message has no address of its own that others could count from. */
export function addressOf(url: string, base: string | undefined): string | undefined {
  if (!URL.canParse(url, base)) return undefined;
  const { href, protocol } = new URL(url, base);
  return protocol === 'http:' || protocol === 'https:' ? href : undefined;
}

/** For a record: where a document is, without what its address may carry for one call alone. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return (origin + pathname).slice(0, LIMITS.callDocumentPlaceChars);
}

/** Where a program may go on with a document that is not there yet, each place once. */
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

/** What a preview cannot show, for whoever believes that it shows the whole call. */
export function lintOtherDocuments(program: VoiceProgram): Finding[] {
  return otherDocuments(program)
    .slice(0, LIMITS.voiceFindings)
    .map((url) => ({
      path: 'body',
      code: 'other_document',
      message: `The call goes on with ${url.slice(0, LIMITS.callDocumentPlaceChars)}, which is read in the call only`,
      severity: 'warning' as const,
    }));
}
