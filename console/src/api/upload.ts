import { headersOfUser } from './client';
import { ApiProblem, problemOf, Unreachable } from './problem';
import { reachability } from './reachability';

interface Upload {
  address: string;
  file: Blob;
  /** Of the file, from 0 to 1; 1 while the server still works on what has arrived. */
  onProgress(share: number): void;
  signal: AbortSignal;
}

/** Sends a CSV file and answers with the `data` of the answer. `fetch` cannot say how far it is, and this can. */
export function upload<Report>({ address, file, onProgress, signal }: Upload): Promise<Report> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const lost = () => {
      reachability.set(false);
      reject(new Unreachable('The server could not be reached'));
    };
    request.open('POST', address);
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('content-type', 'text/csv; charset=utf-8');
    for (const [name, value] of Object.entries(headersOfUser())) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      onProgress(loaded / Math.max(total, 1)),
    );
    request.addEventListener('error', lost);
    request.addEventListener('abort', () => reject(new DOMException('Stopped', 'AbortError')));
    request.addEventListener('load', () => {
      reachability.set(true);
      answerOf<Report>(request).then(resolve, reject);
    });
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

async function answerOf<Report>(request: XMLHttpRequest): Promise<Report> {
  const id = request.getResponseHeader('x-request-id');
  const response = new Response(request.responseText, {
    status: request.status,
    statusText: request.statusText,
    headers: id === null ? {} : { 'x-request-id': id },
  });
  if (!response.ok) throw await problemOf(response);
  const body: { data?: Report } = await response.json();
  if (body.data === undefined) {
    throw new ApiProblem(
      response.status,
      'unknown',
      '',
      'The answer has no data',
      id ?? undefined,
      [],
      undefined,
    );
  }
  return body.data;
}
