import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MAIN } from '../support/root';

const PROGRAM = MAIN.replace(/main\.js$/, 'cli/program.js');
const LISTED = `require(${JSON.stringify(PROGRAM)}).runProgram(process.argv.slice(1)).then(() =>
  process.stderr.write(JSON.stringify(Object.keys(require.cache))))`;
/** What the server is made of, and takes a second to load. */
const SERVER = /node_modules\/(@temporalio|fastify|pg|prom-client|libphonenumber-js|smpp|smtp-server)\//;

async function loadedBy(...args: string[]): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, ['-e', LISTED, 'node', 'fanfare', ...args]);
  return JSON.parse(stderr) as string[];
}

test.each(['campaign', 'contacts', 'template', 'user'])(
  'a command of `fanfare %s` that speaks HTTP does not load the server',
  async (command) => {
    const files = await loadedBy(command, '--help');
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter((file) => SERVER.test(file))).toEqual([]);
  },
);
