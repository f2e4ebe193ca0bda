import type { CallCommand, Heard, WaitingControl } from '../../domain/voice/call-control';
import type { CallDocuments } from '../../domain/voice/call-documents';
import type { SimulatedCallee } from './simulator-callee';

/** For the callee: fetched documents come from anywhere, and a call made again must be the same call. */
const DOCUMENT_MS = 200;

interface Following {
  callId: string;
  documents: CallDocuments;
  /** Ends all waiting. */
  signal: AbortSignal;
  /** Looks at a document before the call goes on with it. */
  onDocument(text: string): Promise<void>;
}

/**
 * A simulated call that may go on with other documents. They are really fetched, while the callee's time is
 * counted as ever: the same for every document, and all that was allowed for one that does not come.
 */
export function withDocuments(
  callee: SimulatedCallee,
  { callId, documents, signal, onDocument }: Following,
): WaitingControl {
  async function fetchDocument({
    maxMs,
    ...command
  }: Extract<CallCommand, { do: 'fetch_document' }>): Promise<Heard> {
    const { url, method } = command;
    const fields = { CallSid: callId, ...command.fields };
    const answer = await documents.fetch({ url, method, fields }, signal);
    if ('text' in answer) {
      await onDocument(answer.text);
      return { ...callee.wait(Math.min(DOCUMENT_MS, maxMs)), document: answer };
    }
    // Like anything else that did not happen in its time.
    if (answer.problem === 'document_timeout') return callee.wait(maxMs);
    return { ...callee.wait(Math.min(DOCUMENT_MS, maxMs)), problem: answer.problem };
  }

  return {
    carryOut: (command) =>
      command.do === 'fetch_document' ? fetchDocument(command) : callee.carryOut(command),
  };
}
