import { type AddressInfo, createServer } from 'node:net';
import { openLibrarySession, type Pdu } from '../../src/providers/smpp/library';

/** An SMS centre that says yes to everything, as fast as it can, in a process of its own. Prints its port. */
function main(): void {
  const server = createServer((socket) => {
    const session = openLibrarySession(socket);
    socket.setNoDelay(true);
    session.on('error', () => socket.destroy());
    let taken = 0;
    session.on('pdu', (pdu: Pdu) => {
      if (pdu.command === 'submit_sm') session.send(pdu.response({ message_id: `id-${++taken}` }));
      else if (!pdu.isResponse()) session.send(pdu.response());
    });
  });
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  });
}

if (require.main === module) main();
