/** See run-tied.ts. Takes the server to run as one JSON argument. */
const { spawn } = require('node:child_process');

const { command, args, stopSignal, options } = JSON.parse(process.argv[2]);
const server = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
server.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
server.on('exit', (code) => process.exit(code ?? 0));

process.stdin.on('end', () => server.kill(stopSignal));
process.stdin.resume();
// Ctrl-C reaches the whole foreground group; the order to stop comes through the pipe in any case.
process.on('SIGINT', () => undefined);
