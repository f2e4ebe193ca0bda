import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

/**
 * Every statement on the campaigns' tables is reached with its workspace. One that is not names the run it works for,
 * in a file that says below where the run's id comes from, or stands in a function that is listed with its reason.
 * The ids that callers give are looked up with their workspace first: campaigns by `readCampaign` and `lockCampaign`,
 * runs by `findRun`, lists by `requireList`, sends by their workspace.
 */
const ROOM = resolve(__dirname, '../../src/campaigns');

/** Files and folders whose statements are about one run, and how its id gets there. */
const OF_ONE_RUN: Record<string, string> = {
  'audience/': "the run's workflow, which the run's row started",
  'calls/call-events.ts':
    'calls of runs that the feed’s workspace has (outcomes.ts), or of a call’s own workflow',
  'calls/call-slots.ts': "the workflow of the run's call",
  'calls/call-records.ts': 'findRun, by the workspace and the campaign',
  'calls/calls.ts': "the workflow of the run's call, or a page of the run",
  'explain/': 'findRun or findPerson, by the workspace and the campaign',
  'ledger/timeline.ts': 'the rows that the ledger has just moved, a page of the run, or its freeze',
  'release/': "the run's workflow, or a campaign's run that was locked or read with its workspace",
  'actions/cancel-run.ts': "the run's workflow",
  'runs/ledger-counts.ts': "a campaign's run that was read with its workspace, or the run's workflow",
  'runs/ledger.ts': "the workflow of the run's shard",
  'runs/next-due.ts': "the workflow of the run's shard",
  'runs/planned-wake.ts': "the workflow of the run's shard, or a run whose wake was planned",
  'runs/own-pause.ts': "the run's workflow, or a campaign's run that was locked with its workspace",
  'reports/recipient-outcomes.ts': 'findRun, by the workspace and the campaign',
  'reports/run-timeline.ts': 'findRun, by the workspace and the campaign',
  'reports/rare-recipients.ts': 'findRun, by the workspace and the campaign, or the run’s workflow',
  'reports/recipient-spans.ts': 'findRun, by the workspace and the campaign, or the run’s workflow',
  'reports/recipients.ts': 'findRun, by the workspace and the campaign, or the run’s workflow',
  'actions/let-go.ts': "a campaign's run that was locked with its workspace",
  'actions/retry-failed.ts': "a campaign's run that was locked with its workspace",
  'runs/run-end.ts': "the run's workflow",
  'runs/rate-limit.ts': "a page of the run, or a campaign's run that was locked with its workspace",
  'runs/sending-rate.ts': "a page of the run, or a campaign's run that was read with its workspace",
  'runs/shared-pace.ts': 'pages of these runs in this process',
  'runs/fallback-wanted.ts': 'a recipient of the run',
  'runs/fallback-turns.ts': "the run's workflow",
  'stops/expire-overdue.ts':
    'the run whose page is asked for, or one of a stopped workspace, read with that workspace',
};

/** Functions with statements that name neither, each with the reason. */
const OTHERWISE: Record<string, Record<string, string[]>> = {
  "by the id of a row that was read or locked with its workspace, in the same transaction or by the row's workflow":
    {
      'actions/campaign-actions.ts': ['startDraft', 'unarchive', 'withdraw'],
      'approval/approval-rule.ts': ['contactsOf', 'countContacts'],
      'approval/digest.ts': ['readAudience'],
      'model/campaign-record.ts': ['selectRun'],
      'actions/own-audience.ts': ['copyOwnAudience', 'dropOwnAudience'],
      'contacts/contact-lists.ts': ['readList', 'deleteList', 'removeMember'],
      'policy/follow-policy.ts': ['markTold'],
      'outcomes/abort-watch.ts': ['moveBaseline'],
      'runs/fail-run.ts': ['failRun'],
      'runs/run-rows.ts': [
        'insertRun',
        'keepPaused',
        'withdrawRun',
        'reopenRun',
        'cancelFailedRuns',
        'cancelFailedRun',
        'hasShards',
        'liveRunsOf',
        'controlLiveRuns',
        'passGates',
      ],
      'runs/runs.ts': [
        'moveRun',
        'readControl',
        'readWantedControl',
        'countChange',
        'noteControlApplied',
        'machinePolicyOf',
        'beginRun',
        'lockCampaignOf',
        'hasPredecessor',
        'hasCompanion',
      ],
      'schedules/schedule-reconciler.ts': ['follow'],
      'schedules/recurring.ts': [
        'endSchedule',
        'steerSchedule',
        'takeOccurrence',
        'dueAt',
        'finish',
        'setStage',
        'nextRun',
      ],
      'sends/claim-sends.ts': ['claimSend', 'putOff', 'waitUntil', 'end', 'again', 'recordSend'],
    },
  'it holds the workspace against the runs that a caller names, or moves recipients of one run': {
    'ledger/move-recipients.ts': ['moving', 'named', 'found', 'amendRecipients', 'addToCounts'],
    'ledger/code-counts.ts': ['addToCodes'],
  },
  'a part of statements that name the workspace or the run': {
    'audience/audience-time-zones.ts': ['statedZones'],
    'audience/audience-sql.ts': ['allMembers'],
    'contacts/contact-by-id.ts': ['contactById'],
    'ledger/derived-state.ts': ['derivedState'],
    'reports/recipient-search.ts': ['searchedRecipients', 'matchesOf'],
    'runs/ledger.ts': ['isOurs', 'offerChunk', 'resolvePage', 'fencedUpdate'],
    'stops/expire-overdue.ts': ['expireSome', 'takeOverdue'],
    'watch/run-facts.ts': ['FACTS', 'STAGE', 'NEXT_DUE'],
    'actions/old-holds.ts': ['mayGoOn'],
  },
  'it looks at all workspaces, and answers nothing that a caller sees': {
    'calls/call-reconciler.ts': ['LaunchedCalls', 'progressOf'],
    'reports/phase-changes.ts': ['countsFollow', 'createPhaseChanges'],
    'retention.ts': ['markRuns', 'deleteRows', 'finishRuns', 'deleteSends'],
    'runs/run-phases.ts': ['runPhases', 'recipientsByPhase'],
    'watch/launch-in-turn.ts': ['kindOfRuns', 'kindOfSends', 'hasUnsent'],
    'watch/run-facts.ts': ['endWatch', 'putAway'],
    'watch/watch.ts': ['holdWatch', 'giveUpWatch'],
  },
};

const TABLES = [...readFileSync(join(ROOM, 'model/tables.ts'), 'utf8').matchAll(/^ {2}(\w+): \{/gm)].map(
  ([, table]) => table as string,
);
const NAMES_TABLE = new RegExp(
  `\\b(?:from|join|update|into)\\s+(${TABLES.join('|')})\\b|'(${TABLES.join('|')})(?: as \\w+)?'`,
);
const BUILDS_QUERY = /^(?:selectFrom|insertInto|updateTable|deleteFrom)$/;

interface Statement {
  file: string;
  owner: string;
  text: string;
}

function statementsOf(file: string, text: string): Statement[] {
  const found: Statement[] = [];
  const visit = (node: ts.Node, owner: string): void => {
    const statement = statementAt(node);
    if (statement === undefined) ts.forEachChild(node, (child) => visit(child, owner));
    else if (NAMES_TABLE.test(statement)) found.push({ file, owner, text: statement });
  };
  for (const part of ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true).statements)
    visit(part, nameOf(part));
  return found;
}

/** SQL with all that is put into it, or a query that is built call by call. */
function statementAt(node: ts.Node): string | undefined {
  if (ts.isTaggedTemplateExpression(node))
    return /^sql\b/.test(node.tag.getText()) ? node.getText() : undefined;
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  if (!BUILDS_QUERY.test(node.expression.name.text)) return undefined;
  let whole: ts.Node = node;
  while (ts.isPropertyAccessExpression(whole.parent) || ts.isCallExpression(whole.parent)) {
    if (ts.isCallExpression(whole.parent) && whole.parent.expression !== whole) break;
    whole = whole.parent;
  }
  return whole.getText();
}

function nameOf(part: ts.Statement): string {
  if (ts.isFunctionDeclaration(part) || ts.isClassDeclaration(part)) return part.name?.text ?? '';
  if (!ts.isVariableStatement(part)) return '';
  return part.declarationList.declarations[0]?.name.getText() ?? '';
}

const namesWorkspace = ({ text }: Statement) => /workspace_id|workspaceId/.test(text);
const ofOneRun = (file: string) => Object.keys(OF_ONE_RUN).find((place) => file.startsWith(place));
const namesRun = ({ file, text }: Statement) => ofOneRun(file) !== undefined && /run_id|[rR]unId/.test(text);

describe('statements on the campaigns’ tables', () => {
  const files = readdirSync(ROOM, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const statements = files.flatMap((file) => statementsOf(file, readFileSync(join(ROOM, file), 'utf8')));
  const open = statements.filter((one) => !namesWorkspace(one) && !namesRun(one));
  const listed = Object.values(OTHERWISE).flatMap((byFile) =>
    Object.entries(byFile).flatMap(([file, owners]) => owners.map((owner) => `${file} ${owner}`)),
  );

  test('are found', () => {
    expect(statements.length).toBeGreaterThan(150);
    const text = "const read = (db) => db.selectFrom('runs').selectAll().where('id', '=', 'x').execute();";
    const [one] = statementsOf('x.ts', text) as [Statement];
    expect([one.owner, namesWorkspace(one), namesRun(one)]).toEqual(['read', false, false]);
    const [other] = statementsOf('x.ts', 'const all = sql`select * from pages where workspace_id = 1`') as [
      Statement,
    ];
    expect([other.owner, namesWorkspace(other)]).toEqual(['all', true]);
  });

  test('name their workspace, or the run that they are about, or have a reason', () => {
    const unlisted = open.filter(({ file, owner }) => !listed.includes(`${file} ${owner}`));
    expect(unlisted.map(({ file, owner, text }) => `${file} ${owner}: ${text}`)).toEqual([]);
  });

  test('have no reason that they do not need', () => {
    const needed = new Set(open.map(({ file, owner }) => `${file} ${owner}`));
    expect(listed.filter((one) => !needed.has(one))).toEqual([]);
    const ofRuns = statements.filter((one) => !namesWorkspace(one) && namesRun(one));
    const places = new Set(ofRuns.map(({ file }) => ofOneRun(file)));
    expect(Object.keys(OF_ONE_RUN).filter((place) => !places.has(place))).toEqual([]);
  });
});
