/**
 * Which folder may import which: the arrows of docs/architecture.md, checked by `npm run check`. An import
 * between our own folders that no line of FOLDERS allows is an error. `types` are what only `import type`
 * may name: the caller depends on the shape, and never on the thing. Long because every rule of imports stands here.
 */
const OURS = '^(src|workflows|activities|workers|test|console)/';

const FOLDERS = [
  {
    name: 'domain',
    at: '^src/domain/',
    why: 'pure rules, bundled into workflows: the root of the graph imports nothing',
  },
  { name: 'log', at: '^src/log\\.ts$', values: ['^src/domain/'] },
  {
    name: 'certificate',
    at: '^src/certificate\\.ts$',
    types: ['^src/log'],
    why: 'the files of a listener, whichever it is',
  },
  {
    name: 'foreground',
    at: '^src/foreground\\.ts$',
    values: ['^src/domain/'],
    why: 'requests enter it and work asks it, and neither knows the other',
  },
  {
    name: 'own-requests',
    at: '^src/own-requests\\.ts$',
    why: 'the gateway sends the mark and the server knows it, and neither knows the other',
  },
  { name: 'startup-error', at: '^src/startup-error\\.ts$' },
  {
    name: 'credentials',
    at: '^src/credentials/',
    values: ['^src/startup-error'],
    why: 'the file by which commands find a running instance, which itself writes it',
  },
  {
    name: 'config',
    at: '^src/config(-values|-variables|-vendors)?\\.ts$',
    values: ['^src/config-', '^src/domain/', '^src/startup-error'],
  },
  {
    name: 'contracts',
    at: '^src/contracts/',
    values: ['^src/domain/', '^src/config-values', '^src/audit/actions'],
  },
  {
    name: 'csv',
    at: '^src/csv/',
    values: ['^src/domain/'],
    why: 'reading a table from a stream, for both halves',
  },
  {
    name: 'storage',
    at: '^src/storage/',
    values: ['^src/domain/', '^src/startup-error', '^src/supervision/'],
    types: ['^src/log'],
    why: 'the server and its schema; queries live with their owner',
  },
  {
    name: 'supervision',
    at: '^src/supervision/',
    values: ['^src/startup-error'],
    types: ['^src/log'],
    why: 'it runs a server process, whichever it is',
  },
  {
    name: 'providers',
    at: '^src/providers/',
    values: ['^src/domain/', '^src/certificate', '^src/thread'],
    types: ['^src/log'],
    why: 'a provider is handed everything it needs and knows nobody',
  },
  {
    name: 'speech',
    at: '^src/speech/',
    values: ['^src/domain/'],
    why: 'text in, samples out: it knows neither calls nor flows',
  },
  {
    name: 'audit',
    at: '^src/audit/',
    values: ['^src/domain/', '^src/storage/(new-id|periodic-cleanup|with-first-change)'],
    types: ['^src/log'],
    why: 'both halves are audited by it, and it knows neither',
  },
  {
    name: 'messaging',
    at: '^src/messaging/',
    values: [
      '^src/domain/',
      '^src/csv/',
      '^src/audit/',
      '^src/storage/(new-id|periodic-cleanup|statement-names|with-first-change)',
    ],
    types: [
      '^src/providers/(provider|vendor/)',
      '^src/storage/storage',
      '^src/log',
      '^src/foreground',
      '^src/contracts/',
    ],
    why: 'the service works without campaigns, Temporal and HTTP',
  },
  {
    name: 'campaigns',
    at: '^src/campaigns/',
    values: ['^src/domain/', '^src/csv/', '^src/storage/(new-id|periodic-cleanup)'],
    types: ['^src/storage/storage', '^src/log', '^src/contracts/'],
    why: 'campaigns reach the messaging service only through its HTTP contract, by the gateway',
  },
  {
    name: 'gateway',
    at: '^src/gateway/',
    values: ['^src/domain/', '^src/startup-error', '^src/thread'],
    types: ['^src/contracts/', '^src/config', '^src/log'],
    why: 'a client of any service that fulfils the specification, not of our own in particular',
  },
  {
    name: 'temporal',
    at: '^src/temporal/',
    values: ['^src/domain/', '^src/startup-error', '^src/supervision/'],
    types: ['^workflows/', '^activities/', '^src/log', '^src/campaigns/'],
    why: 'workflow code is named, never loaded, outside the sandbox',
  },
  {
    name: 'http',
    at: '^src/http/',
    values: [
      '^src/domain/',
      '^src/contracts/',
      '^src/messaging/',
      '^src/campaigns/',
      '^src/audit/',
      '^src/storage/with-first-change',
      '^src/temporal/',
      '^src/startup-error',
      // Only a carrier's own adapter can tell which callbacks are the carrier's, and what its codes say.
      '^src/providers/(vendor/|mail-events/|smpp/statuses)',
    ],
    types: [
      '^src/storage/storage',
      '^src/log',
      '^src/foreground',
      '^src/own-requests',
      '^src/providers/(provider|vendor/(vendor|call-control))',
      '^src/oidc/',
    ],
    why: 'routes translate between HTTP and the two halves',
  },
  {
    name: 'oidc',
    at: '^src/oidc/',
    why: 'a log-in at a provider outside: it knows neither users nor sessions',
  },
  {
    name: 'metrics',
    at: '^src/metrics/',
    values: ['^src/domain/', '^src/startup-error'],
    types: ['^src/messaging/model/observer', '^src/http/request/observer'],
    why: 'it counts what others tell it, and knows none of them',
  },
  {
    name: 'tracing',
    at: '^src/tracing/',
    values: ['^src/domain/'],
    types: ['^src/messaging/model/observer', '^src/http/request/traced-requests'],
    why: 'it is told what happens, as metrics are, and knows none of those who tell',
  },
  {
    name: 'workflows',
    at: '^workflows/',
    values: ['^src/domain/'],
    types: ['^activities/', '^src/campaigns/'],
    why: 'whatever a workflow imports is loaded into the sandbox and must replay the same for years',
  },
  {
    name: 'activities',
    at: '^activities/',
    values: ['^src/domain/', '^src/campaigns/'],
    types: ['^src/gateway/gateway', '^src/log', '^src/foreground', '^src/storage/storage'],
    why: 'activities send through the gateway, never by the messaging half or a provider',
  },
  {
    name: 'workers',
    at: '^workers/',
    values: ['^activities/', '^src/(?!http/|cli/|main)'],
    why: 'workflows are named by path, never imported; a worker serves no HTTP',
  },
  {
    name: 'app',
    at: '^src/app/',
    values: ['^src/(?!cli/|main)', '^workers/', '^activities/'],
    why: 'the parts are put together here; commands come on top',
  },
  {
    name: 'client',
    at: '^src/client/',
    types: ['^src/domain/'],
    why: 'loaded by other programs, with nothing installed but itself',
  },
  {
    name: 'console',
    at: '^console/',
    why: 'a client of the public contract and nothing else: it runs in browsers, with the types of the OpenAPI document',
  },
  { name: 'cli', at: '^src/cli/', values: ['^src/(?!main)', '^workers/'] },
  {
    name: 'main',
    at: '^src/main\\.ts$',
    values: ['^src/cli/', '^src/startup-error', '^src/config', '^src/log'],
  },
];

/**
 * The rooms of the two halves, floor by floor: a room may import those below it, and none of its own floor or above.
 * What lies beside the rooms (`campaigns.ts`, `delivery.ts`) may import all of them.
 */
const FLOORS = {
  'src/campaigns': [
    ['model'],
    ['ledger', 'policy'],
    ['contacts', 'stops'],
    ['runs'],
    ['approval', 'calls', 'schedules'],
    ['audience', 'sends'],
    ['release'],
    ['outcomes', 'reports'],
    ['actions', 'explain', 'watch'],
  ],
  'src/messaging': [
    ['model'],
    ['access', 'suppression'],
    ['events', 'templates'],
    ['carriers', 'receipts', 'webhooks'],
    ['senders'],
    ['outbox/queue'],
    ['outbox/accept', 'outbox/deliver'],
    ['inbound', 'outbox'],
  ],
};

/** Where a library may be imported from; a library that is not here may be used anywhere. */
const LIBRARIES = [
  {
    name: 'kysely, pg',
    at: '(kysely|pg)',
    from: '^(src/(storage|messaging|campaigns|audit)/|activities/deps|src/app/|test/)',
    why: 'SQL lives in storage and with the two owners of tables',
  },
  {
    name: 'undici',
    at: 'undici',
    from: '^(src/(gateway|providers|cli)/|src/temporal/obtain-executable|src/app/|test/)',
    why: 'requests leave through the gateway and the providers',
  },
  {
    name: 'openid-client',
    at: 'openid-client',
    from: '^(src/oidc/|test/)',
    why: 'one place speaks with the provider of log-ins',
  },
  {
    name: 'prom-client',
    at: 'prom-client',
    from: '^(src/metrics/|test/)',
    why: 'one place decides on names and labels',
  },
  {
    name: 'OpenTelemetry',
    at: '(@opentelemetry|@temporalio/interceptors-opentelemetry)',
    from: '^(src/tracing/|test/)',
    why: 'it is loaded only where traces are wanted',
  },
  { name: 'fastify', at: 'fastify', from: '^(src/http/|test/)', why: 'the two halves know nothing of HTTP' },
  {
    name: 'zod',
    at: 'zod',
    from: '^(src/(contracts|http|gateway|providers|cli|credentials)/|src/config(-values|-variables|-vendors)?\\.ts|test/)',
    why: 'bytes are parsed once, where they enter',
  },
  {
    name: 'saxes',
    at: 'saxes',
    from: '^(src/domain/voice/xml-tree|test/)',
    why: 'one reader of XML, with one set of things it refuses',
  },
  {
    name: '@temporalio/worker',
    at: '@temporalio/worker',
    from: '^(workers/|src/temporal/(connection|runtime)|test/)',
    why: 'only workers run workflows and activities',
  },
  {
    name: '@temporalio/client',
    at: '@temporalio/client',
    from: '^(src/temporal/|workers/|src/app/|test/)',
    why: 'everybody else starts and signals through src/temporal',
  },
  {
    name: '@temporalio/workflow',
    at: '@temporalio/workflow',
    from: '^(workflows/|test/)',
    why: 'it works in the sandbox only',
  },
  {
    name: '@temporalio/activity',
    at: '@temporalio/activity',
    from: '^(activities/|test/)',
    why: 'it works inside an activity only',
  },
];

/** Places that construct concrete things; everybody else is given them. */
const CONSTRUCTORS = '^(src/app/|src/main\\.ts|src/cli/|workers/|test/)';
const CONCRETE =
  '^src/(storage/storage|speech/espeak-synthesizer|providers/(?!provider)[^/]+|gateway/(?!gateway)[^/]+)\\.ts$';

const notTypes = { dependencyTypesNot: ['type-only'] };

module.exports = {
  forbidden: [
    ...FOLDERS.flatMap(({ name, at, values = [], types = [], why = 'see docs/architecture.md' }) => [
      {
        name: `${name}-imports`,
        severity: 'error',
        comment: why,
        from: { path: at },
        to: { path: OURS, pathNot: [at, ...values, ...types] },
      },
      types.length > 0 && {
        name: `${name}-imports-values`,
        severity: 'error',
        comment: `${why} (\`import type\` is allowed here)`,
        from: { path: at },
        to: { path: types, pathNot: [at, ...values], ...notTypes },
      },
    ]).filter(Boolean),
    {
      name: 'domain-has-no-dependencies',
      severity: 'error',
      comment: 'no library and nothing of Node: it must run in the workflow sandbox',
      // Voice documents are read where templates are, never in the sandbox; `npm run check` looks at its bundle.
      from: { path: '^src/domain/', pathNot: '^src/domain/voice/xml-tree\\.ts$' },
      to: { pathNot: '^src/domain/' },
    },
    {
      name: 'client-has-no-dependencies',
      severity: 'error',
      comment: 'no library: what a backend loads is this and what Node has',
      from: { path: '^src/client/' },
      to: { path: 'node_modules/(?!@types/)', ...notTypes },
    },
    {
      name: 'workflows-import-the-sandbox-only',
      severity: 'error',
      comment: 'no library and nothing of Node besides the Temporal workflow package',
      from: { path: '^workflows/' },
      to: { pathNot: [OURS, 'node_modules/@temporalio/workflow/', 'node_modules/@temporalio/common/'] },
    },
    {
      name: 'workflows-take-types-from-common',
      severity: 'error',
      comment: 'the workflow package exports every value that a workflow may use',
      from: { path: '^workflows/' },
      to: { path: 'node_modules/@temporalio/common/', ...notTypes },
    },
    ...Object.entries(FLOORS).flatMap(([half, floors]) => [
      ...floors.flatMap((rooms, floor) =>
        rooms.map((room) => ({
          name: `${half}/${room} imports rooms below it`,
          severity: 'error',
          comment: 'move what both rooms need to the lower one, or take it as an argument',
          from: { path: `^${half}/${room}/[^/]+$` },
          to: {
            path: `^${half}/`,
            pathNot: [room, ...floors.slice(0, floor).flat()].map((one) => `^${half}/${one}/[^/]+$`),
          },
        })),
      ),
      {
        name: `every room of ${half} has a floor`,
        severity: 'error',
        comment: 'name it in FLOORS',
        from: {},
        to: { path: `^${half}/.+/`, pathNot: floors.flat().map((one) => `^${half}/${one}/[^/]+$`) },
      },
    ]),
    ...LIBRARIES.map(({ name, at, from, why }) => ({
      name: `library: ${name}`,
      severity: 'error',
      comment: why,
      from: { path: OURS, pathNot: from },
      to: { path: `node_modules/${at}/`, ...notTypes },
    })),
    {
      name: 'concrete-things-are-constructed-in-few-places',
      severity: 'error',
      comment: 'take what you need as an argument; src/app, workers and test/support construct it',
      from: { path: OURS, pathNot: [CONSTRUCTORS, '^src/(storage|speech|providers|gateway)/'] },
      to: { path: CONCRETE, ...notTypes },
    },
    {
      name: 'tests-are-not-imported',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { path: '^test/' },
    },
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'cycles of types alone do no harm',
      from: {},
      to: { circular: true, viaOnly: notTypes },
    },
    {
      name: 'no-development-dependency-in-the-product',
      severity: 'error',
      from: { path: '^(src|workflows|activities|workers)/' },
      to: { dependencyTypes: ['npm-dev'], ...notTypes, pathNot: 'node_modules/@types/' },
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Types count: half of the rules are about them.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'default', 'types'],
    },
  },
};
