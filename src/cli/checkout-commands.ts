import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { StartupError } from '../startup-error';

/**
 * `fanfare bench` and `fanfare chaos` (api.md 13). Both use the tests' support and start their own test
 * servers, so that they are in the repository and not in the package. Here they are only found and run.
 */
export function addCheckoutCommands(program: Command, end: (code: number) => void): void {
  for (const { name, description, needs } of SCRIPTS) {
    program
      .command(name)
      .description(`${description} (in a checkout of the repository)`)
      .argument('[arguments...]', `for the script, as after \`npm run ${name} --\``)
      .allowUnknownOption()
      .helpOption(false)
      .action(async (given: string[]) => {
        end(await runScript(name, checkoutWith(name, needs), given));
      });
  }
}

const SCRIPTS = [
  { name: 'bench', description: 'measure a campaign against a bare loop', needs: 'test/bench/campaign.ts' },
  { name: 'chaos', description: 'run campaigns while everything is killed', needs: 'test/chaos/main.ts' },
];

/** A script's exit code when it was asked for something that does not exist, as for every command (api.md 13). */
const USAGE = 2;

function checkoutWith(name: string, file: string): string {
  let directory = __dirname;
  while (!existsSync(join(directory, 'package.json')) && dirname(directory) !== directory) {
    directory = dirname(directory);
  }
  if (existsSync(join(directory, file))) return directory;
  throw new StartupError(
    `fanfare ${name} is not part of the installed package`,
    `Run \`npm run ${name}\` in a checkout of the repository, after \`npm ci\`.`,
  );
}

async function runScript(name: string, cwd: string, given: readonly string[]): Promise<number> {
  const child = spawn('npm', ['run', '--silent', name, '--', ...given], { cwd, stdio: 'inherit' });
  return new Promise((done, fail) => {
    child.once('error', (error) =>
      fail(new StartupError(`npm cannot be run: ${error.message}`, 'Put npm on the PATH.', { cause: error })),
    );
    child.once('exit', (code) => done(code === 0 || code === USAGE ? code : 1));
  });
}
