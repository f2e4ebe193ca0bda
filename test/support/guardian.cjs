/** See run-tied.ts. Arguments: signal that stops the server, its command, its arguments. */
const { spawn } = require('node:child_process');

const [stopSignal, command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
server.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
server.on('exit', (code) => process.exit(code ?? 0));

process.stdin.on('end', () => server.kill(stopSignal));
process.stdin.resume();
// Ctrl-C reaches the whole foreground group; the order to stop comes through the pipe in any case.
process.on('SIGINT', () => undefined);
