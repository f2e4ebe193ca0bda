/** Has nothing to do but one request to the carrier at its argument, and does not close the pool. */
import { carrierThread } from '../../src/providers/carrier-thread';

const origin = process.argv[2] ?? '';
const pool = carrierThread.openPool({ origin, connections: 1, answerMs: 5_000, answerBytes: 100 });
void pool
  .ask({ method: 'GET', path: '/' }, () => true)
  .then((answer) => {
    console.log('status' in answer ? answer.status : answer.code);
  });
