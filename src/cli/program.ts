import { Command, CommanderError, Option } from 'commander';
import { ROLES, type Role } from '../domain/task-queues';
import { addAccessCommands, addAdminCommands } from './access-commands';
import { addAuditCommands } from './audit-commands';
import { addCampaignCommands } from './campaign-commands';
import { addCheckoutCommands } from './checkout-commands';
import { addCompletionCommand } from './completion';
import { addContactCommands, addExplainCommand } from './contact-commands';
import { addContactListCommands } from './contact-list-commands';
import { addExamples } from './examples';
import { FAILED, printFailure, reportFailure, USAGE_ERROR } from './failure';
import { repeatDemo } from './first-demo';
import { migrateDatabase, runDoctor, runParts } from './loaded-when-run';
import { addMessageCommands, addStopCommand, addSuppressionCommands } from './message-commands';
import { refuseMisusedOptions } from './misused-options';
import { addTemplateCommands } from './template-commands';
import { addWebhookCommands } from './webhook-commands';

/** The command line: reads arguments, runs a command, returns the exit code. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  let code = 0;
  endWithReader({ isServer: SERVERS.includes(argv[2] ?? '') });
  const program = new Command('fanfare')
    .description('Durable campaigns over email, SMS and voice')
    .showHelpAfterError('`fanfare --help` lists the commands; with a command in front, its options.')
    .exitOverride();

  const end = (ended: number) => {
    code = ended;
  };
  addProcesses(program, end);
  addAdminCommands(program);
  addAccessCommands(program);
  addAuditCommands(program, end);
  addCampaignCommands(program, end);
  addContactCommands(program);
  addContactListCommands(program);
  addExplainCommand(program);
  addMessageCommands(program);
  addStopCommand(program);
  addSuppressionCommands(program);
  addTemplateCommands(program, end);
  addWebhookCommands(program);
  addCheckoutCommands(program, end);

  program
    .command('doctor')
    .description('check everything that an installation depends on, and say what to do')
    .option('--json', 'print the findings as JSON')
    .action(async (options: { json?: boolean }) => {
      code = await runDoctor(options);
    });

  program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--json', 'print the outcome as JSON')
    .action((options: { json?: boolean }) => migrateDatabase(options));

  addCompletionCommand(program);
  addExamples(program);
  refuseMisusedOptions(program);

  try {
    await program.parseAsync(argv);
    return code;
  } catch (error) {
    const json = argv.includes('--json');
    if (!(error instanceof CommanderError)) return reportFailure(error, { json });
    if (error.exitCode === 0) return 0;
    // Commander has printed it to the standard error output.
    if (json) printFailure({ code: 'usage', message: error.message });
    return USAGE_ERROR;
  }
}

const SERVERS = ['up', 'serve', 'worker'];

/** A reader of the output, such as `head`, may have enough. A command has nothing more to do then, and a server has. */
function endWithReader({ isServer }: { isServer: boolean }): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (!isServer) process.exit(FAILED);
  });
}

/** Commands that run until they are stopped, and the demo for them. */
function addProcesses(program: Command, end: (code: number) => void): void {
  program
    .command('up')
    .description('everything in one process: database, Temporal, HTTP API, workers')
    .option('--demo', 'run the demo campaign once, while every provider is the simulator')
    .action(async ({ demo }: { demo?: boolean }) => {
      end(await runParts({ http: true, roles: ROLES, demo: demo ?? false }));
    });

  program
    .command('serve')
    .description(
      'the HTTP API and message delivery; needs TEMPORAL_ADDRESS, and DATABASE_URL or `up` beside it',
    )
    .action(async () => {
      end(await runParts({ http: true, roles: [], demo: false }));
    });

  program
    .command('worker')
    .description('Temporal workers; needs TEMPORAL_ADDRESS, and DATABASE_URL or `up` beside it')
    .addOption(new Option('--role <role>', 'what to run').choices([...ROLES, 'all']).default('all'))
    .action(async ({ role }: { role: Role | 'all' }) => {
      end(await runParts({ http: false, roles: role === 'all' ? ROLES : [role], demo: false }));
    });

  program
    .command('demo')
    .description('run the demo campaign again on a running instance')
    .action(async () => {
      end(await repeatDemo());
    });
}
