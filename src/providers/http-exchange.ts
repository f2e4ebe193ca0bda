import { type Dispatcher, errors } from 'undici';
import type { Fault } from './provider';

/** Its body is a text, because requests are copied to the thread that makes them. */
export interface CarrierRequest {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  /** By name, or names and values in turn. */
  headers?: Record<string, string> | string[];
  body?: string;
}

export interface HttpAnswer {
  status: number;
  /** The only header that is read of a carrier's answer. */
  retryAfter: string | undefined;
  text: string;
}

export interface NoAnswer {
  code: string;
  /** The carrier may have it. */
  offered: boolean;
  /** It was not to be made any more when its turn came. */
  stayed: boolean;
  fault?: Fault | undefined;
}

/** Whether the request may still be made; called when a connection is free for it, and before it goes to another thread. */
export type MayBegin = () => boolean;

/**
 * Makes one request. It stands below undici's response streams, because a stream for an answer of a few bytes
 * costs more than the request, and because a handler alone learns when the first byte is about to be written: the
 * error of a failed request does not tell. A refused certificate and a reset connection look alike, but only after
 * the second can a message be with the carrier.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: CarrierRequest,
  mayBegin: MayBegin,
  /** From the first byte of the request to the last of the answer. */
  answerMs: number,
): Promise<HttpAnswer | NoAnswer> {
  return new Promise((resolve) => dispatcher.dispatch(request, new Exchange(mayBegin, answerMs, resolve)));
}

class Exchange implements Dispatcher.DispatchHandler {
  private offered = false;
  private stayed = false;
  private status = 0;
  private retryAfter: string | undefined;
  private text: Buffer | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly mayBegin: MayBegin,
    private readonly answerMs: number,
    private readonly done: (outcome: HttpAnswer | NoAnswer) => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.mayBegin()) {
      this.stayed = true;
      // Thrown here it ends this request alone; to abort it would end the connection.
      throw new Error('The request was not to be made any more');
    }
    this.offered = true;
    // The dispatcher's own times begin anew with each piece of a body and each informational answer (1xx), so that a
    // carrier that sends a byte now and then would hold the hand-over for days. With 20,000 requests by turns, a
    // timer for each costs nothing that can be measured.
    this.timer = setTimeout(() => controller.abort(new errors.HeadersTimeoutError()), this.answerMs);
  }

  /** Called for informational answers too; the last call is the answer. */
  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    const retryAfter = headers['retry-after'];
    this.status = status;
    this.retryAfter = typeof retryAfter === 'string' ? retryAfter : undefined;
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.text = this.text ? Buffer.concat([this.text, chunk]) : chunk;
  }

  onResponseEnd(): void {
    clearTimeout(this.timer);
    this.answer(this.text?.toString('utf8') ?? '');
  }

  onResponseError(_: unknown, error: Error): void {
    clearTimeout(this.timer);
    // An answer whose body breaks off is an answer still, if its status says enough.
    if (this.status >= 300) this.answer('');
    else {
      const code = (error as NodeJS.ErrnoException).code ?? 'no_answer';
      this.done({ code, offered: this.offered, stayed: this.stayed });
    }
  }

  private answer(text: string): void {
    this.done({ status: this.status, retryAfter: this.retryAfter, text });
  }
}
