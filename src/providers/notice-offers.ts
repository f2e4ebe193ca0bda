import type { Dispatcher, Pool } from 'undici';

/**
 * Marks each request when its first byte is about to be written. The error of a failed one does not tell:
 * a refused certificate and a reset connection look alike, but only after the second can a message be
 * with the carrier. One that `mayBegin` says no to is not written; its connection serves the next.
 */
export function noticeOffers(
  pool: Pool,
  offered: WeakSet<object>,
  mayBegin: (request: object) => boolean,
): Dispatcher {
  return pool.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, {
        onRequestStart(controller, context) {
          // Thrown here it ends this request alone; to abort it would end the connection.
          if (!mayBegin(options)) throw new Error('The request was not to be made any more');
          offered.add(options);
          handler.onRequestStart?.(controller, context);
        },
        onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
        onResponseStart: (...args) => handler.onResponseStart?.(...args),
        onResponseData: (...args) => handler.onResponseData?.(...args),
        onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
        onResponseError: (...args) => handler.onResponseError?.(...args),
      }),
  );
}
