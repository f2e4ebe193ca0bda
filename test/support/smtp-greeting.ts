import { connect } from 'node:net';

/** Whether a mail host speaks at the port. */
export function greetsAt(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
