/**
 * Every limit of the system, once, with its reason; the file is long because there are many. Sizes are bytes,
 * times carry their unit, the rest are counts. docs/configuration.md lists those that a caller can meet.
 */

const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  // Requests (api.md 1)
  jsonBodyBytes: 1 * MiB,
  templateBodyBytes: 4 * MiB,
  bulkBodyBytes: 8 * MiB,
  /**
   * Entries of one list or object of a JSON body: twice what any path takes. Each of them may be wrong, and what is wrong
   * with twenty thousand is found within a second.
   */
  bodyEntries: 20_000,
  /** A CSV import has no length limit, because it is streamed; a line has one. */
  csvLineBytes: 64 * KiB,
  paramsKeys: 100,
  paramsKeyChars: 64,
  paramsValueBytes: 16 * KiB,
  uidChars: 128,
  idChars: 64,
  campaignTagChars: 64,
  campaignNameChars: 200,
  campaignLists: 100,
  /** Points of a timeline: as many as a wide screen has columns, and unless asked, as many as a plot needs. */
  timelinePoints: 1_000,
  timelinePointsDefault: 200,
  /** Live campaigns that the overview shows, and how long one reading of the outbox serves all callers. */
  liveCampaignsListed: 50,
  outboxOverviewMs: 1_000,
  /**
   * The overview shows one hour of minutes. Some more are kept, because the sweep does not run every minute.
   */
  messageMinutesKeptHours: 3,
  /** Persons who are read at once to be erased, and how much of each in one statement: some ten milliseconds of work. */
  erasuresAtOnce: 100,
  erasedMessages: 100,
  erasedRows: 500,
  erasedRuns: 500,
  /** A person is gone within a minute: some looks fit into it, because each is one small query when no erasure is open. */
  erasureLookMs: 5_000,
  /** A statement that was under way when an erasure began may write the address after that; none takes this long. */
  erasureSettleMs: 15_000,
  /** Tags of a campaign and their length: what a person can still take in at a glance. */
  campaignTags: 20,
  tagChars: 40,
  /** Codes that one call of retry-failed names: more than any carrier has for what may be worth another try. */
  retriedCodes: 100,
  bulkMessages: 1_000,
  contactsPerRequest: 10_000,
  importErrorsListed: 1_000,
  pageSizeDefault: 20,
  pageSizeMax: 100,
  longPageSizeMax: 1_000,
  /** Messages that one page of a list reads when no index serves its filter: some 0.2 s. */
  messagesLookedAt: 100_000,
  /** The same for recipients, at the speed of an index scan: some 60 ms. */
  recipientsLookedAt: 100_000,
  /** Recipients of a rare state are found by the indexes of codes and of waiting, and sorted: some 10 ms. */
  recipientsSorted: 5_000,
  searchChars: 200,
  /** Rows of a run's outcomes: as many states and codes as a page of a console shows. */
  outcomesListed: 200,
  /** Contacts whose rows are read one by one when a search finds them, some 20 µs each. Of more, a page is read sooner
   * by going through all rows in their order, because one in some hundred matches then. */
  searchedByIdMax: 3_000,
  feedWaitSecondsMax: 20,
  sendAtYearsMax: 1,

  // Tokens and sessions (api.md 2, 3)
  tokenHoursDefault: 24,
  tokenHoursMax: 168,
  /** Longest token accepted for revocation; ours have 47 characters. */
  tokenChars: 1_000,
  sessionIdleHours: 12,
  sessionDaysMax: 7,
  /** Failed log-ins of one user, or one client, from one address within the window. */
  loginFailuresMax: 5,
  /**
   * Failed log-ins of one user from all addresses together: so many that strangers cannot lock the user out
   * by guessing.
   */
  loginFailuresPerUserMax: 100,
  /** Failed log-ins from one address, of all users or all clients: a whole office may share one router. */
  loginFailuresPerAddressMax: 1_000,
  loginFailureWindowMinutes: 15,
  /** The first wait after too many failures; each further failure doubles it, up to the longest. */
  loginWaitSecondsMin: 60,
  loginWaitSecondsMax: 900,
  /** Repetitions of a call, such as one that is refused, become one entry of the audit log in this time. */
  auditRepeatedMs: 60_000,
  /** Callers and calls whose repetitions a process counts at the same time; more are written before their minute. */
  auditRepeatedHeld: 10_000,
  /** Equal calls that a control refused are one line of the process log in this time, after the first. */
  refusalsLoggedMs: 60_000,
  /**
   * Kinds of refused calls that a process counts separately at the same time. All others share one log line,
   * so that no caller fills the log by trying every route.
   */
  refusalsLoggedHeld: 1_000,
  /** Equal warnings of a process are one line of its log in this time, after the first. */
  warningsEqualMs: 60_000,
  /** Different warnings that are compared; beyond it the one that was written first is forgotten. */
  warningsEqualHeld: 1_000,
  /** Entries that retention cuts off in one transaction, each of which is recorded by an entry of its own. */
  auditCutRows: 10_000,
  /** How long a process may trust a cached token: a revoked token stops within this time on every process. */
  authCacheSeconds: 4,
  /** From this age on, a cached token is read again in the background, so that no request in a steady stream
   * waits. */
  authRefreshSeconds: 2,
  /** Cached credentials per kind and process, and addresses whose failed log-ins are counted. */
  authCacheEntries: 10_000,
  /** How often a session in use writes that it was used; enough for an expiry counted in hours. */
  sessionTouchSeconds: 60,
  /** A person has to come back from the OpenID provider within this time. */
  oidcLogInSeconds: 600,
  /** Length of the console's path to which a log-in leads; it is kept in a cookie, which browsers bound to 4 KiB. */
  oidcBackChars: 1_000,
  /** Length of a browser's name (User-Agent) in lists of sessions. */
  userAgentChars: 256,
  passwordCharsMin: 12,
  passwordChars: 256,

  // Administration and Idempotency-Key (api.md 1, 11)
  /** Users in one workspace; likewise clients, and valid keys. */
  credentialsPerWorkspace: 1_000,
  /** Secrets of one client that are valid at the same time: the newest, and those it replaced. */
  clientSecretsMax: 5,
  secretOverlapHoursDefault: 24,
  secretOverlapHoursMax: 168,
  idempotencyKeyChars: 255,
  /** Results are kept for the promised day, and one hour more because clocks differ. */
  idempotencyKeptHours: 25,
  /** A call that has not ended after this counts as dead, and a repetition takes over. */
  idempotencyLeaseSeconds: 60,
  /** How often expired rows are deleted, and how many in one statement. */
  expirySweepSeconds: 300,
  expirySweepRows: 1_000,

  // Templates
  templateNameChars: 200,
  /** RFC 5322's limit for a header line. */
  subjectChars: 998,
  /** Nesting of an editor's layout or flow: far above real ones, far below a stack overflow. */
  designDepth: 100,
  /** A voice document of 200 verbs with more than a minute's speech each. Every call's document has this limit
   * too. */
  voiceXmlChars: 256 * KiB,
  /** api.md 5. The root is the first level. */
  voiceXmlDepth: 10,
  voiceVerbs: 200,
  /** A flow as JSON, including the editor's own keys; a copy is sent with every call (api.md 12). */
  voiceFlowChars: 512 * KiB,
  voiceFlowNodes: 500,
  voiceFlowEdges: 1_000,
  /** Findings listed for one document or flow; the last one says how many more there are. */
  voiceFindings: 100,
  /** Blocks of an email layout, and blocks drawn in all: the renderer takes 30 ms for this many. */
  layoutBlocks: 2_000,
  /** api.md 5. The root is at depth 0. */
  layoutDepth: 20,
  /** Findings for one layout, so that a list of a million wrong ids does not give a million findings. */
  layoutFindings: 500,
  /** Reported braces of one template that look like a placeholder and are none. */
  lintFindings: 50,
  /** 255 segments of 153 septets: the most that the header joining segments can number (3GPP TS 23.040). */
  smsBodyChars: 39_015,
  /** An email's HTML with its values: as much as a template may have, and more than any mail client shows. */
  filledEmailChars: 4 * MiB,
  /** Length and nesting of HTML from which a library derives the text part. Beyond them we use our own quick pass. */
  derivedTextChars: 128 * KiB,
  derivedTextDepth: 200,
  /** Length of a message's own HTML from which a text part is derived for it alone: one millisecond's work. */
  ownBodyTextChars: 32 * KiB,
  ownBodiesKeptChars: 4 * MiB,
  /** Compiled versions kept in memory, in characters of all their bodies. */
  templateCacheChars: 32 * MiB,
  templateCacheEntries: 10_000,

  // HTTP server
  /** A uid of full length has 384 characters when all are percent-encoded; an unsubscribe link for the longest
   * address is longer. */
  pathParamChars: 512,
  httpHeadersTimeoutMs: 15_000,
  /** A silent connection is closed after this; longer than the longest poll. */
  httpIdleTimeoutMs: 75_000,
  /** What answers tell clients of it: less, so that none sends a request on a connection that is being closed. */
  httpKeepAliveSeconds: 72,
  /** For a whole request, because an import of a million rows over a slow line is one request. */
  httpRequestTimeoutMs: 3_600_000,
  /** For a body that is read as a whole, 8 MiB at most: more than 2 Mbit/s. */
  httpBodyMs: 30_000,
  /**
   * When a body is refused for its length, so much of it is still read and discarded, because otherwise the
   * client would not read the answer.
   */
  httpDiscardedBytes: 32 * MiB,
  /** Concurrent connections; each holds a socket and up to 8 MiB of body. */
  httpConnections: 5_000,
  /** How long requests in progress may continue while the server closes. */
  httpDrainMs: 3_000,
  /** From a connection to the end of its TLS handshake. */
  tlsHandshakeMs: 15_000,
  /** How often the files of the certificate are looked at; a renewed one is used after at most this. */
  certificateLookMs: 2_000,

  // Progress streams (api.md 7)
  /** Open at once, per process and per workspace in it. Each is a browser tab and holds a connection. */
  progressStreams: 500,
  progressStreamsPerWorkspace: 50,
  /** A little less than the second that the contract allows, because a read takes its time too. */
  progressTickMs: 750,
  /** Proxies close a connection that is silent for longer, often after 30 s. */
  progressHeartbeatMs: 15_000,
  /** A reader whose credentials were revoked is disconnected after this time at the latest (api.md 3). */
  progressRecheckMs: 5_000,
  /** Events waiting for a reader who takes none; they get only the newest when they read on. */
  progressBacklogBytes: 16 * KiB,

  // Outbox and dispatch
  /** Undelivered due messages of class `marketing` in a workspace. Beyond this, send-msg answers 429. */
  outboxMessages: 20_000,
  /** The same for class `transactional`. It is counted apart, so that a campaign never blocks a password reset. */
  outboxTransactionalMessages: 5_000,
  /** Campaigns may fill this part of either limit, so that the workspace's own sends still have room. */
  outboxCampaignShare: 0.75,
  /** Up to this part, a campaign that finds no room may have so much of what is free: 500 of 2,500, then 400 for the next
   * one that cannot send either. A campaign alone never gets there, and own sends keep an eighth. */
  outboxBesideShare: 0.875,
  outboxBesidePart: 0.25,
  /** Messages of a workspace's paused campaigns that do not count towards its limit: those of ten. While messages come, they are
   * counted again twice a minute at least, at some 9 µs each. */
  outboxAsideMessages: 150_000,
  /** A campaign without room in the outbox waits for room for this many messages, instead of offering a few at a
   * time. */
  outboxLotMessages: 250,
  /** How often the service is asked for room while campaigns wait, once for all campaigns of a process and
   * workspace. */
  outboxRoomPollMs: 200,
  /** A campaign's page waits this long for room; then it gives its worker back. */
  outboxRoomWaitMs: 3_000,
  /** Concurrent requests that share one insert. Beyond a few hundred, the insert is the whole cost. */
  groupCommitMessages: 1_000,
  /** A part of the ten milliseconds that an insert and its answers take. */
  groupCommitLingerMs: 3,
  /** Messages in one hand-over batch; also what a crash can leave in doubt, per partition and provider. */
  handoverBatch: 500,
  /** How often a process writes a sign of life. After three that are missing it is shown as silent. */
  processSignSeconds: 20,
  processSilentSeconds: 60,
  /** For so long an owner sees that a process was killed. One that dies every ten seconds leaves 360 rows. */
  processKeptMinutes: 60,
  processesListed: 200,
  /** A dispatcher that has not renewed its partition for this long counts as dead, and another one takes it. */
  partitionLeaseSeconds: 10,
  partitionRenewSeconds: 2,
  /** Old rows that one statement deletes: some milliseconds' work. */
  retentionRows: 1_000,
  /** Rest between two steps, and how many times as long as the step took it is at least: a sweep takes a quarter of a
   * connection's time, and deletes less the busier the database is. Without the second a campaign sent
   * at two thirds of its rate beside a sweep. */
  retentionPauseMs: 20,
  retentionRestShare: 3,
  retentionSweepSeconds: 600,
  retentionFirstSweepSeconds: 20,
  /** How long a migration waits for a table's lock, since everything else on that table waits behind it. */
  migrationLockMs: 2_000,
  migrationPauseMs: 1_000,
  /** Ten minutes of trying beside long transactions. */
  migrationTries: 200,
  /** Indexes of a database up to this size are built before a process starts: a second's work. */
  indexesAwaitedBytes: 64 * MiB,
  /** How often is looked whether the last process of an earlier build is gone, whose indexes then go. */
  retiredIndexLookMs: 60_000,
  /** Blocks of a table that one transaction searches for rows to change: 1 MiB, a few thousand rows. */
  gradualUpdateBlocks: 128,
  /** Messages whose trace is remembered until they are handed over: some 20 MB. */
  tracedMessages: 100_000,
  /** Hand-overs that the trace of one request shows. */
  tracedHandOvers: 20,
  indexLockPauseMs: 500,
  /** Ended runs that one sweep takes on at a time. */
  retentionRuns: 20,
  /**
   * How long the messages of a canceled campaign are held. Later none can come: a process that was frozen while it offered
   * some finds its connection closed, and its page's attempt taken over.
   */
  canceledHoldHours: 24,
  /** Senders of a workspace with limits of their own; every process keeps all of them in memory. */
  senderLimits: 1_000,
  /** Longest pause that a provider's Retry-After puts on a sender; after it the provider is asked again. */
  senderSilenceMs: 3_600_000,
  /** A call whose end was never reported stops counting as a sender's live call after this; no call takes so long. */
  callLeaseSeconds: 900,
  /** How often a carrier's request about a call is written anew after others about the same call, which are a few at most. */
  callFactTries: 20,
  /** Hand-overs with transient provider failures before a message fails. */
  handoverAttempts: 8,
  /** The wait after the first of them, which each further one doubles, up to the longest. */
  handoverBackoffMs: 1_000,
  handoverBackoffMaxMs: 300_000,
  /** Concurrent batches of one channel, because one slow answer must not stop the others. */
  handoversInFlight: 4,
  /** Results of hand-overs are recorded after this time or at this number, by one statement of at most this
   * number. */
  recordLingerMs: 100,
  recordResults: 200,
  recordResultsMax: 1_000,
  /** Unrecorded results beyond which no batch is opened, because unrecorded messages are in doubt. */
  recordBacklog: 2_000,
  /** Messages are opened this long before a provider has free places, so that no place stays idle. */
  openAheadMs: 100,
  /** Part of a provider's places that is kept for transactional messages while all others are taken. */
  transactionalReserve: 0.125,
  /** A provider that has not answered for this long never will: its batch is in doubt, its place is free. */
  handoverTimeoutSeconds: 120,
  /** Batches shrink until one lasts about this long, so that cancels take effect quickly and a crash leaves
   * little in doubt. They do not shrink below what keeps the provider busy. */
  handoverTargetMs: 400,
  /** After a carrier has refused our account, the first pause before a single message is tried. Each further
   * pause is half as long again, up to the second number (api.md 12: within 30 s at first, and every 5 minutes
   * at last). */
  accountPauseMs: 5_000,
  accountPauseMaxMs: 300_000,
  /** Pause of a single message that is refused so while others are accepted. A carrier that refused fewer than
   * three messages gets no longer pause either, because other messages must not wait for what may be wrong with
   * these alone. */
  accountAloneMs: 20_000,
  /** So many messages one after the other without an answer, some of them offered after the first was given up: the carrier
   * answers none, and each further message would be in doubt too. */
  accountUnanswered: 20,
  /** Remembered messages that may be refused because of their recipient (404, 405). */
  accountSuspects: 10_000,
  /** How often due messages that cannot be sent are searched for expired ones, because `expired` is reported
   * within 5 s; and how many of them one statement ends. */
  expireWaitingMs: 2_000,
  expireWaitingRows: 1_000,
  /** Groups of due messages that one statement sweeps, of up to `groupCommitMessages` each: at most a tenth of a second. */
  dueGroupsSwept: 100,
  /** Longest pause of a channel most of whose senders were asked to slow down. */
  throttlePauseMs: 15_000,
  /** Least time between two batches of a channel that are not full, because a statement for 100 messages costs
   * little more than one for 10. */
  handoverLingerMs: 40,
  /** The same for storing receipts. */
  receiptLingerMs: 40,
  /** Receipts wait this long for this process to record their hand-over, checking this often. The hand-over is
   * recorded within recordLingerMs, and storing a receipt for later costs three statements. */
  receiptWaitMs: 300,
  receiptLookMs: 20,
  /** Least time between two reads of a partition for due retries and planned messages. A read passes over what was accepted
   * since the last one: every 100 ms it took PostgreSQL 24 µs for each single send, beside 100 to accept it. */
  dueReadMs: 250,
  /** After this time it is read from its oldest message again, in case one was skipped. */
  dueFullReadMs: 5_000,
  /** How often all flows with messages are looked up, so that a fault in our bookkeeping delays a message and
   * does not lose it. */
  dueLookUpMs: 30_000,
  /** Rendered text of one batch, because templates can be large and each message has its own copy. */
  handoverChars: 16 * MiB,
  /** Marketing messages of a channel in memory between acceptance and hand-over, shared by its flows; the rest
   * wait in the table. As many as campaigns of one workspace may offer: with a third of it, seven in ten
   * messages of a campaign were read from the table again. Each flow has at least the second number, enough for
   * its turns until the next read. */
  queuedMessages: 15_000,
  queuedPerFlowMin: 50,
  /** For each transactional flow. */
  queuedTransactional: 500,
  /** Flows that one statement reads. */
  queuedFlowsRead: 50,
  /** Size of their content, because a message may bring its own body. */
  queuedBytes: 64 * MiB,
  /** Requests waiting for their insert, in messages and in bytes of content; beyond it 503. */
  acceptQueueMessages: 10_000,
  acceptQueueBytes: 64 * MiB,
  /** Content of one insert. */
  groupCommitBytes: 4 * MiB,
  /** How soon a waiting reader of the feed sees what another process wrote. */
  feedPollMs: 200,
  /** Events kept with a message; later reports of a provider about it are ignored. */
  messageEvents: 100,
  /** Recently handed-over messages that are remembered for their receipts, some 0.5 KiB each. */
  receiptTargets: 20_000,
  /** Receipts waiting to be recorded; beyond it providers keep theirs until there is room. */
  receiptQueue: 20_000,
  /** A receipt without a message is deleted after this. */
  orphanReceiptHours: 72,

  // Accounts at carriers (api.md 15)
  /** Accounts of an installation. Each has connections of its own in every process. */
  accounts: 200,
  /** The longest value of a setting or secret: several relays with their passwords stand in one. */
  accountValueChars: 8_000,
  accountHeaders: 20,
  accountWorkspaces: 1_000,
  /** A carrier may report later than that an account is gone. */
  deletedAccountDays: 7,
  routes: 1_000,
  /**
   * Registered senders of an installation. Every process has all of them in memory, a few hundred bytes each.
   */
  registeredSenders: 10_000,
  /** The longest domain name, in the form in which DNS has it. */
  senderChars: 253,
  routeAccounts: 20,
  /** Senders of an installation that some account refuses. Every process has all of them in memory. */
  closedSenders: 10_000,
  /**
   * Closed senders of one account, so that invented senders of one account leave room for those of others.
   */
  closedSendersOfAccount: 500,
  /** A receipt of what was handed over before a sender was reopened comes within this, or not at all. */
  reopenedSenderDays: 7,
  /** How often a process asks whether an account or route was changed: well below the promised 5 s. */
  carriersPollMs: 2_000,
  /** A refused account that was made by the API is tried at least so often, because an owner changes it and watches. */
  accountProbeMs: 30_000,
  /**
   * How long other processes believe that an account is paused, unless its process repeats it. A few polls
   * may be late.
   */
  accountPauseLeaseMs: 10_000,
  /** Another process that is refused too tries in the place of one that has had nothing to try with for so long. */
  accountFollowMs: 5_000,
  /** An account that throttles for so long without taking a message is passed over, where its route says so. */
  failoverThrottledMs: 60_000,
  /** How long `doctor` waits for all accounts that were made by the API. */
  doctorAccountsMs: 60_000,
  /** How long `check` waits for a connection. */
  accountCheckMs: 5_000,
  /** A message whose sender an account refuses is offered again after this: an owner has to register the sender first. */
  senderRefusedMs: 5 * 60_000,
  /** After a change of an account's secrets the carrier may still sign with the old ones for so long. */
  oldSecretMinutes: 10,
  /** So many changes of an account's secrets within that time are remembered; each callback tries them all. */
  formerProofs: 5,
  /** Requests to a vendor at once: it answers in some 100 ms, and bounds the rate itself. */
  vendorConnections: 50,
  /** A short wait makes doubts out of slow answers. Twilio answers within 15 s, mostly. */
  vendorAnswerMs: 30_000,
  /** Fifty messages with their texts are the longest that we ask for. */
  vendorAnswerBytes: 1 * MiB,
  /** A voice document is served for so long after its call's end, in case the carrier asks for it again. */
  endedCallMinutes: 10,
  /** Twilio queues calls for a day at most. A call without an event for longer counts as over. */
  silentCallHours: 26,
  /** Twilio places one call a second, and queues what is more where no pause reaches it. */
  vendorCallsPerSecond: 1,
  /** Calls a second at Vonage; it refuses a burst of more. */
  vonageCallsPerSecond: 3,
  /** An account with as many calls as it may have is looked at again after this. */
  callSlotMs: 500,
  /** A call whose end is not reported keeps its place for so long beyond its ringing and its length. */
  callSlotGraceSeconds: 60,
  /** Calls a second at Telnyx, which takes 150 in 5 seconds. */
  telnyxCallsPerSecond: 25,
  /** When a message in doubt is looked up at a vendor: lists are late, and most doubts end by a callback before. */
  doubtLooksMs: [30_000, 120_000, 600_000],
  /** Signed callbacks of Telnyx and Vonage are believed for so long, as both advise. */
  callbackAgeSeconds: 300,
  /** SendGrid collects events up to 768 KiB; those of others are some KiB each. */
  callbackBytes: 1 * MiB,
  /** A certificate of Amazon, or its word that a subscription is confirmed. */
  mailEventFetchBytes: 64 * KiB,
  mailEventFetchMs: 5_000,
  /** Mailgun's tokens are remembered for longer than their signature is believed (24 h). */
  eventTokenHours: 26,

  // Webhooks out
  /** Endpoints of a workspace; each reads the event feed separately. */
  webhooksPerWorkspace: 50,
  webhookUrlChars: 2_000,
  webhookPatterns: 50,
  webhookDescriptionChars: 500,
  /** Valid secrets of one endpoint: each adds a signature to a header. */
  webhookSecrets: 5,
  webhookSecretOverlapHours: 24,
  /** Endpoints whose secrets one transaction encrypts anew at the start. */
  webhookSealRows: 200,
  /** Waiting deliveries of one endpoint. Beyond it, events stay in the feed. */
  webhookBacklog: 2_000,
  /** One look creates deliveries for at most this long, before it sends the due ones. */
  webhookFanOutMs: 250,
  /** With more endpoints than this, a query first finds those with due deliveries. */
  webhookRoomsUnasked: 10,
  /** Events of the feed that one statement turns into deliveries. */
  webhookFanOut: 1_000,
  /** Concurrent requests to one endpoint: if it answers promptly, if nothing is known about it yet, if its
   * answers are late, and if it has failed for a while. */
  webhookInFlight: 20,
  webhookInFlightNew: 2,
  webhookInFlightSlow: 4,
  webhookInFlightFailing: 1,
  /** An answer is late from here on. Half of the second by which other endpoints may be delayed (api.md 14). */
  webhookSlowMs: 500,
  /** Concurrent requests of one process: in each of two pools, prompt and slow (endpoint-rooms.ts), of those for
   * one workspace, and in all. The total is more than both pools, because a request that becomes late changes
   * its pool. */
  webhookInFlightPool: 200,
  webhookInFlightWorkspace: 50,
  webhookInFlightAll: 600,
  /** An endpoint counts as failing after this time of failures. */
  webhookFailingMs: 5_000,
  /** For a whole attempt: name lookup, connection, answer. */
  webhookAnswerMs: 15_000,
  /** A process that has not recorded an attempt after this counts as dead. */
  webhookLeaseMs: 45_000,
  /** How much of an answer's body is read, and how much is kept for the owner. */
  webhookAnswerBytes: 16 * KiB,
  webhookAnswerKeptChars: 500,
  /** Longest pause that an endpoint's Retry-After puts on it. */
  webhookSilenceMs: 24 * 3_600_000,
  /** An endpoint that has failed for this long without one success, retries included, is disabled. */
  webhookFailingHours: 120,
  /** After this long without a success, the next success makes all waiting deliveries due at once. */
  webhookRecoveredMs: 600_000,
  /** Time between two looks for new events and due deliveries: with endpoints, and without any. */
  webhookLookMs: 250,
  webhookIdleLookMs: 2_000,
  /** Ended attempts are gathered for this long, so that one statement records them. */
  webhookLingerMs: 10,
  /** Phase changes of campaigns reported at once. */
  webhookCampaignEvents: 100,
  /** Ended deliveries that one call starts again. */
  webhookRedeliveries: 1_000,
  /** How long ended deliveries can be read and repeated: delivered ones, and failed ones. */
  webhookDeliveredDays: 3,
  webhookFailedDays: 30,
  // Opting out
  /** Characters of an inbound SMS that are searched for keywords: more than ten segments. */
  inboundTextChars: 1_600,
  /** How long an inbound SMS is remembered, to recognise repetitions; carriers give up within days. */
  inboundKeptDays: 30,
  /** A reply to a keyword that comes later than this would confuse its recipient. */
  replyWithinMinutes: 60,
  /** Replies to one number in a day, so that two machines that answer each other stop. */
  repliesPerDay: 10,
  /** How often pending replies are looked for, and how many at once. */
  replySweepMs: 15_000,
  repliesAtOnce: 100,
  /** Workspaces that share a sender; one STOP is stored for each. */
  workspacesPerSender: 1_000,
  /** Senders that a process remembers to have recorded. */
  sendersNoted: 10_000,
  /** An address is suppressed when its mail failed temporarily on this many days of that many. */
  softBounceDays: 5,
  softBounceWindowDays: 30,
  /** Body of the unsubscribe form. */
  unsubscribeBodyBytes: 4 * KiB,
  /** Length of a browser's Accept-Language, which rarely lists more than five languages. */
  acceptLanguageChars: 200,
  /** Changes by one link, and wrong links from one address, per minute. */
  unsubscribesPerMinute: 20,
  wrongLinksPerMinute: 60,
  /** Links and addresses that are counted at once. */
  rateWindowKeys: 10_000,
  /** Requests of a workspace, per process, but for sending: what two cores answer in a second with room for
   * others, and as many at once as fill the connections for requests several times over. */
  requestsPerSecondDefault: 500,
  requestsAtOnceDefault: 50,
  /** Long polls, progress streams and exports of a workspace that one process serves at once. */
  streamsPerWorkspace: 200,
  /**
   * Imports of a workspace that one process runs at once: more than its connections for requests, which the
   * imports take in turn.
   */
  importsPerWorkspace: 10,
  /** Campaigns of a workspace. Each makes lists and sweeps slower, and none of them is deleted by itself. */
  campaignsPerWorkspace: 100_000,
  listsPerWorkspace: 10_000,
  contactsPerWorkspace: 10_000_000,
  /** How old a count of a workspace's contacts may be. */
  contactCountSeconds: 600,

  // Providers
  /** Receipts that a provider gives to the product in one call. */
  receiptBatch: 500,
  /** Other data of a receipt, as JSON, and the length of the carrier's message id. */
  receiptDataChars: 16 * KiB,
  providerIdChars: 200,
  /** Concurrent POSTs to one carrier. One that takes 50 ms for a message and 200 at once can take 4,000 a second, and
   * a message needs 67 ms from request to request on two busy cores: with 200 it was given 0.7 of what it can take,
   * with 300 0.84, with 400 0.89. */
  httpProviderConnections: 400,
  /** How long the answer holds that a carrier's request may leave; afterwards it is asked again. So a pause, a cancel or the end
   * of a lease stops a request at most this much late, a tenth of the second by which a process ends its lease early. */
  carrierBeginMs: 100,
  /** The thread that makes carriers' requests ends so long after its last account has closed. It takes 30 MB. */
  carrierThreadIdleMs: 5_000,
  /** Messages at once with a carrier for this time after it throttled us, failed, or lost an answer: it may bear no
   * more, and with twice as many one that takes 200 would refuse every second message. */
  carefulHandovers: 200,
  carefulMs: 600_000,
  /** Even with every answer this slow, open batches end within `handoverTimeoutSeconds`. */
  httpProviderAnswerMs: 20_000,
  httpProviderAnswerBytes: 64 * KiB,
  /** SMTP: messages per connection before it is closed, as many relays would do themselves. */
  smtpMessagesPerConnection: 100,
  smtpConnectionsDefault: 5,
  smtpConnectionsMax: 200,
  /** Messages of a batch per connection: enough that no connection is idle, and not more, because a crash leaves
   * them in doubt. */
  smtpBatchPerConnection: 8,
  /** For connecting, for greeting and encryption, and for the log-in: each. */
  smtpConnectMs: 10_000,
  /** From the first command to the answer. After it the relay may still accept the message, so the result is
   * unknown. */
  smtpAnswerMs: 45_000,
  /** A message that has not begun this long after its batch is sent back. With the two limits above, the last
   * one begun ends within `handoverTimeoutSeconds`. */
  smtpBatchMs: 30_000,
  smtpReplyBytes: 64 * KiB,
  /** Size of the pieces in which messages are written. While a piece is left, the relay cannot have the whole
   * message. */
  smtpPieceBytes: 64 * KiB,
  /** Concurrent messages to one recipient's host, as many as large hosts accept from a good sender. */
  smtpPerDestination: 20,
  /** Hosts and senders' domains whose limits are remembered. */
  smtpDestinations: 10_000,
  smtpSenders: 10_000,
  /** Pause after a host asked to slow down: the first, and the longest after repeated requests. */
  smtpSilenceFirstMs: 60_000,
  smtpSilenceMaxMs: 3_600_000,
  /** A message waits this long for its turn at a host that is being tried; then other messages get its connection. */
  smtpSlowWaitMs: 2_000,
  /** Refusals of a sender's domain in a row that are no coincidence. */
  smtpSenderRefusals: 3,
  smtpSenderPauseFirstMs: 60_000,
  smtpSenderPauseMaxMs: 1_800_000,
  smtpSenderTrialMs: 60_000,
  /** How long open messages may finish while the provider closes. */
  smtpDrainMs: 3_000,
  /** Reports and unsubscribe mails. A report may return the whole message, of which only the first part is read. */
  smtpInboundBytes: 10 * MiB,
  // Anyone may send such mail, and the time to parse some of it grows with the square of its size.
  smtpInboundReadBytes: 64 * KiB,
  /** Characters of each part of a delivery report; a report about one recipient has a few hundred. */
  smtpReportChars: 16 * KiB,
  smtpInboundConnections: 50,
  smtpInboundRecipients: 20,
  smtpInboundIdleMs: 30_000,
  /** Even for a busy connection, because otherwise a few slow ones would block all others. */
  smtpInboundConnectionMs: 300_000,
  /** A centre that has not answered a PDU for this long has lost it, or its answer. */
  smppAnswerMs: 10_000,
  /** So many submit_sm one after the other without an answer end the session, although the centre answers enquire_link. */
  smppUnanswered: 10,
  /** After this silence, the centre is asked whether it is still there. */
  smppEnquireMs: 30_000,
  /** Between two binds; each is a log-in, and centres lock accounts that try too often. */
  smppReconnectMinMs: 1_000,
  smppReconnectMaxMs: 60_000,
  /** How long a message waits for room in a window, and its further parts for a centre that says "later". With
   * the answer this stays within `handoverTimeoutSeconds`. */
  smppWindowWaitMs: 10_000,
  smppFurtherPartsMs: 15_000,
  /** Longest validity sent to a centre: many refuse a longer one, and none tries for longer. */
  smppValidityHours: 168,
  /** Destinations of long messages whose last reference is remembered. */
  smppReferences: 50_000,
  /** Parts remembered for their receipts, some 0.7 KiB each; the others are looked up. */
  smppPartIds: 20_000,
  /**
   * Receipts and inbound messages waiting to be processed; above it the centre is asked to send them again
   * later.
   */
  smppDeliveries: 2_000,
  /** A text that comes so long after the same one was taken on a session that had ended is another message. */
  smppRepeatMs: 10 * 60_000,
  /** A receipt without a message waits this long for the answers that were under way when it came. */
  smppEarlyMs: 1_000,
  /** When a receipt with an unknown id is first matched again: most answers that were under way when it came are
   * recorded by then. */
  lostIdFirstLookMs: 15_000,
  /** How long the ids of a long message's parts are kept: longer than centres try to deliver. */
  smsPartHours: 168,
  /** Long inbound messages that are being put together, and for how long. */
  inboundParts: 1_000,
  inboundPartsMs: 300_000,
  /** A part of an inbound message is acknowledged after this, because some centres send no further part before. */
  inboundPartHoldMs: 2_000,
  /** Concurrent POSTs to Kannel, the time for its answer, and how much of it is read. */
  kannelConnections: 50,
  kannelAnswerMs: 20_000,
  kannelAnswerBytes: 16 * KiB,
  /** Messages whose receipts the simulator keeps in memory; the rest wait in its table. */
  simulatorReceipts: 20_000,
  /** The same for calls, because each keeps its record: some KiB. */
  simulatorCalls: 4_000,
  /** Compiled documents that the simulator keeps, and texts whose spoken length it remembers. */
  simulatorDocumentsChars: 4 * MiB,
  simulatorSpokenTexts: 10_000,
  /** Concurrent simulated calls with several documents, and how long all calls of a batch may wait for
   * documents: a fraction of the time for its hand-over. */
  simulatorCallsFollowed: 50,
  simulatorFollowMs: 30_000,

  // The durable run
  /** A shard's history grows with its recipients, so that shards stay small. */
  recipientsPerShard: 25_000,
  shardsPerChannel: 16,
  /** Where recipients are due at different hours, a shard is frozen in one transaction; with more shards it
   * stays short. */
  shardsPerChannelByHours: 64,
  /** The first shard of an audience of more than twice as many; further ones are twice as large as the one before, the
   * last up to three times. The first one is filled within a tenth of a second, and sent while the others are. */
  firstShardContacts: 2_500,
  /** Contacts frozen in one transaction: a tenth of a second's work, after which control is read. */
  audiencePieceContacts: 5_000,
  /** Pieces that a process freezes at once, in turn by run: each holds a connection and keeps a core busy. */
  audiencePiecesAtOnce: 2,
  /** Requests that are under way for so long are late, and work waits for them. Those that take longer than the second
   * are slow by themselves. */
  foregroundLateMs: 50,
  foregroundSlowMs: 3_000,
  /** For how long all work of a process may wait at a stretch: fourteen cancels at once need a second by themselves.
   * It takes as long to earn. */
  foregroundBudgetMs: 2_000,
  /** How often work that waits looks again. */
  foregroundLookMs: 10,
  /** Pages that a shard sends at once: with two, one sends while the other waits for the server. */
  pageWorkersPerShard: 2,
  /** Chunks that a process sends at once. Two keep both cores busy, and a few more hide the service's answer
   * time. No campaign may have all of them, so that one whose service hangs leaves room. */
  pageWorkers: 8,
  pageWorkersPerCampaign: 6,
  /** Activities of runs in a process. Most last some ms. One that asks a slow service lasts as long as
   * that takes; with room for 100, 200 campaigns that began held up another for 20 s. */
  orchestratorActivities: 500,
  /** The same for durable sends, of which one whose service hangs holds its place for a minute. */
  durableSendActivities: 500,
  /** Tasks of their workflows that a process runs at once. A task takes some ms of the processor: beside a thousand sends a
   * campaign of 100 took 3.3 s with five, 4.8 s with ten. */
  durableSendTasks: 5,
  /** Runs of a process that begin and wait for a token of the service, and as many that wait for its templates. Further
   * ones ask again after a moment, so that a slow service leaves room for what other runs do. */
  questionsAtOnce: 100,
  /** Pages that a process has open at once. A page that waits for its rate or its turn costs some kilobytes and
   * a heartbeat every 2.5 seconds; 50 campaigns of 400,000 recipients need this many. */
  pagesOpen: 1_600,
  /** Activities for calls in a process: one for each campaign that starts calls, and room for placing them. */
  voiceActivities: 500,
  /** Below this rate, in recipients per second, a shard uses one page worker. */
  paceSecondPageWorker: 500,
  /** Recipients of one request, and what a crash leaves in doubt per page worker. */
  chunkRecipients: 1_000,
  /** The first chunk of a run that is sent in bulk is small, so that its messages leave while the next chunk is
   * stored. */
  firstChunkRecipients: 200,
  /** Without bulk sends a chunk is smaller, so that control is read and results are recorded as often. */
  singleChunkRecipients: 500,
  /** Concurrent requests to a service about which only the specification is known. */
  sendConcurrency: 50,
  /** Concurrent single sends to a service that reports its capabilities. Ours stores concurrent requests by one
   * insert; with 50, its database and its senders waited for each other a third of the time. */
  sendConcurrencyKnown: 200,
  /** A caller waits while the service says whether carriers can do a durable send; without an answer the send is stored. */
  sendCheckMs: 2_000,
  /** Sends in a burst share one such answer; accounts and routes that changed hold within 5 s. */
  sendCheckSharedMs: 1_000,
  /** Answers kept: templates and senders that are in use within one such second. */
  sendChecksKept: 1_000,
  /** How long a watcher may be silent before another process takes over, and for how many runs it looks at once:
   * more than change in a second on two cores. */
  watchLeaseSeconds: 5,
  runLooksAtOnce: 5_000,
  /** A run that sleeps until a known moment looks no sooner than this after its last look. */
  lookMinMs: 250,
  /** Contacts without a value that a dry run lists, and recipients whose values it holds at once. */
  dryRunOffenders: 100,
  dryRunPage: 500,
  /** Time zone names whose rules are cached: there are some 600, and a wrong file may have any number. */
  timeZoneNames: 2_000,
  /** Every week has the same hours, so that an hour not allowed in two weeks never comes. */
  hoursSearchDays: 14,
  /** Contacts that creating a campaign reads to warn about the hour: some milliseconds' work. */
  warningSample: 1_000,
  /** Per process, because each holds a connection for seconds when the audience is large. */
  dryRunsAtOnce: 2,
  liveCallsDefault: 50,
  liveCallsMax: 10_000,
  /** Calls that find no free slot ask again: this often per second for each slot of the run, and within these
   * limits. Each request is written to a history. If calls last seconds, fewer requests would leave slots
   * empty. */
  placeAsksPerPlace: 0.5,
  placeAsksPerSecondMin: 2,
  placeAsksPerSecondMax: 200,
  /** The longest wait of one call among very many, so that a raised limit takes effect within minutes. */
  placeWaitMs: 600_000,
  /** While no call of the run begins, also this part of the time since the last one did. A call that hangs for a
   * day causes some hundred requests. */
  placeQuietShare: 0.05,
  placeQuietWaitMs: 1_800_000,
  /** A free slot is kept for due redials, but not for longer than this. */
  placeKeptMinutes: 10,
  /** A call without events for this long since its hand-over loses its slot in any case: longer than any wait
   * for its end. */
  callSilenceHours: 25,
  /** How long to wait for a call's end beyond its ringing and longest duration, because receipts may be late. */
  callGraceSeconds: 60,
  /** Calls that the list of recipients shows for one recipient, the latest ones. */
  callsListed: 20,
  /** A campaign's rate in messages per second. Below one a day it would be a pause, above this it would be no
   * limit. */
  paceMin: 1 / 86_400,
  paceMax: 100_000,
  /** Permits are taken for this much time at once: what a crash or a pause can waste, and how even the rate is. */
  paceLotMs: 500,
  /** How far ahead permits are given, so that the next lot is ready before it is due, and no further. */
  paceAheadMs: 1_000,
  /** Permits not taken in time are kept for this long, to make up for a late timer without a burst. */
  paceKeepMs: 250,
  /** An open page holds this much work at the run's rate, because its recipients are shown as being sent. */
  pacePageMs: 3_000,
  /** For a longer wait, the page gives its worker back and the workflow sets a timer. */
  paceWaitMs: 30_000,
  /** How often control is read during a wait for permits. */
  paceLookMs: 200,
  /** Looks of all pages of a process within this time are one statement: at most twenty a second. */
  paceGatherMs: 50,
  /** How long a send activity of a campaign with a pace continues from page to page before it returns to its workflow. */
  sendRoundMs: 60_000,
  /** The same without a pace: as long as one page is meant to take (page-size.ts), so that other campaigns get its slot soon. */
  sendRoundFastMs: 2_000,
  /** Time within which the counts of a canceled campaign follow; its webhook waits for them that long. */
  canceledCountsSeconds: 60,
  /**
   * How long what is stored waits for the service's hold, and for a workflow that is started or signalled, before it is answered.
   * A Temporal server that stands still costs 30 s otherwise, in which callers give up and repeat the call.
   */
  controlAnswerMs: 300,
  /** Due retries are gathered for this part of the time since sending began: a few seconds after minutes, and
   * never longer than the second number. Scattered retries thus cost few wake-ups. */
  gatherShare: 0.05,
  gatherMaxMs: 60_000,
  /** Recipients that one statement searches for retries. */
  retryFailedWindow: 20_000,
  /** Seconds over which a run's rate is measured, and how many are kept. */
  speedSeconds: 10,
  speedSlots: 16,
  /** A durable send without a receipt this long after the service accepted it ends with what is known. */
  sendOutcomeHours: 24,
  /** How often a durable send looks for a lost event: at first, and at last. */
  sendLookSecondsMin: 20,
  sendLookSecondsMax: 3_600,
  /** Pauses of a durable send while the service refuses our account: the first, and the longest. */
  sendAccountSecondsMin: 30,
  sendAccountSecondsMax: 900,
  /** While the service asks to slow down, beyond the pause it asks for. */
  sendThrottledSecondsMax: 60,
  /** Runs with a known workflow that are launched again each minute, in turn: 6,000 an hour. */
  runsRelaunched: 100,
  /** Runs of which nothing is sent yet that a process which serves requests launches when it starts, a request of 2 ms each. */
  runsNotBegun: 1_000,
  /** Durable sends that one look for lost ones starts again. */
  sendsRelaunched: 5_000,
  /** Durable sends that a process has launched and that are not started by their workflows, and of these a workspace's. On two
   * cores the send of another workspace waits a second behind 20 and half as long again behind 40; as many are sent a second. */
  durableSendsLaunched: 200,
  durableSendsLaunchedEach: 20,
  /** The same for runs of campaigns. */
  runsLaunched: 50,
  runsLaunchedEach: 5,
  /** What is not started after this, because its service or the workers do not answer, leaves its place. */
  launchedMs: 5_000,
  /** Planned work is woken by a process that looks for it so often, so much of it at a look, in turn. */
  plannedLookMs: 250,
  plannedPerLook: 2_500,
  /** What is due sooner is not woken, because its workflow may as well start by itself. */
  plannedAheadMs: 5_000,
  /** Shards that sleep for so long are woken in turn as well. Shorter waits are those of retries. */
  plannedWakeMs: 60_000,
  /** So much later its workflow goes on by itself, if the process that was to wake it was killed in between. */
  plannedGraceMs: 30_000,
  /** Of each kind, what waits in memory to be launched, at 300 bytes each; what comes further is left to the reconciler. */
  launchesWaiting: 20_000,
  /** How long a message may be without a report after its hand-over before the contact's next channel begins.
   * Nearly all receipts of SMS come within a minute; those of email within ten, when a relay asked to come
   * again. */
  fallbackAfterSecondsDefault: 600,
  /**
   * Recipients for whom one statement decides on their next channel: a few tenths of a second on a busy
   * machine.
   */
  turnsAtOnce: 2_000,
  /** Least time between two looks for next channels, and the largest share of the time that looks may take. */
  turnLookMs: 1_000,
  turnLookShare: 0.1,
  /** A shard whose recipients wait for an earlier channel looks by itself after this time, because a wake may be
   * lost. */
  turnWaitMs: 60_000,
  /** Digests of a campaign that can be approved, the newest; people read one or two. */
  campaignDigests: 20,
  digestChars: 128,
  /** Stages that a campaign lists, and its gates: each gate is read with every stage in the campaign's detail. */
  releaseStages: 20,
  releaseGates: 10,
  /** A stage's wait: a month, as for all delays of a campaign. */
  stageWaitSecondsMax: 30 * 24 * 3_600,
  /** Recipients that wait for hours, a window or a retry delay the end of their stage by at most this long. */
  stageHeldMs: 3_600_000,
  /** Numbers that one transaction searches for recipients of a stage: a tenth of a second. */
  stageRange: 10_000,
  /** This many recipients of a stage are opened before the first of them are sent to. */
  stageOpenedAtOnce: 20_000,
  /** How late an occurrence may begin before its schedule leaves it out. It is more than a restart takes, and
   * more than the two looks, a minute apart, that find what was lost. */
  misfireToleranceSeconds: 300,
  /** Occurrences of a campaign that run side by side, at each recipient's own hour: an hourly campaign has 26. */
  occurrencesAtOnce: 30,
  /** Calls whose workflow one look, once a minute, starts again. */
  callsRelaunched: 1_000,
  /** Recipients of a run that such a look reads. */
  callsLookedAt: 50_000,
  /** Calls whose workflow a process remembers to have asked for. */
  callsRemembered: 100_000,
  /** Schedules that one look, once a minute, begins or compares with Temporal's, and the greatest age of a
   * comparison. */
  schedulesPerLook: 100,
  scheduleLookSeconds: 600,
  /** Temporal starts occurrences by itself that it missed within this time; the reconciler starts older ones. */
  scheduleCatchUpSeconds: 3_600,
  gatewayTimeoutMs: 30_000,
  /**
   * How long another server may answer in the messaging service's place before the run fails with a message
   * to the operator: longer than a restart behind a proxy takes.
   */
  strangeServiceMs: 300_000,
  /** Size of one answer of the messaging service: a page of a thousand events, each with a carrier's data. */
  gatewayAnswerBytes: 32 * MiB,
  /** PostgreSQL connections of a process, out of the 100 that it allows by default: for the dispatcher, the
   * feeds and a few pages at once, and for requests of callers. */
  databaseConnections: 12,
  databaseRequestConnections: 10,
  /** A query without an answer for this long is checked; how long the check may take; and how often a pooler,
   * which cannot say what became of the query, is believed that the answer still comes (ten minutes). */
  databaseAnswerMs: 20_000,
  databaseLookMs: 10_000,
  databaseUnsureLooks: 30,
  /** A transaction without a statement for this long belongs to a frozen process. Ours have milliseconds between
   * two statements, and seconds on an overloaded machine. */
  databaseIdleInTransactionMs: 15_000,
  /** `/readyz` reports a dependency as away that has not answered by then, because probes give up after seconds. */
  readinessAnswerMs: 2_000,
  /** How long a starting process waits for an unreachable database or Temporal server. */
  startupPatienceMs: 60_000,
  /** Pages read of a hosted service's template list, in case the list never ends. */
  templatePages: 1_000,
  /** Longest delay between two tries of an activity, whatever the service asks for, because a waiting activity
   * does not read the run's control. */
  activityRetryMaxMs: 15_000,

  // Calls
  /** Ringing: with less time no callee reaches the telephone, and no exchange rings for longer. */
  ringSecondsMin: 5,
  ringSecondsMax: 600,
  /** Duration of an answered call. With its ringing it ends within `callLeaseSeconds`, after which it would no
   * longer count as its sender's live call. */
  callSecondsMin: 5,
  callSecondsMax: 840,
  /** When the sender sets no duration. */
  callSecondsDefault: 600,
  /** When the sender sets no ringing time: it ends before most mailboxes answer. */
  ringSecondsDefault: 30,
  /** Commands of one call in all: a document of 200 verbs many times over, and an end for one with a loop. */
  callCommands: 2_000,
  /** Further documents of one call, and how much of each one's address its record keeps. */
  callDocuments: 30,
  callDocumentPlaceChars: 100,
  /** How long fetching one may take, because the callee hears nothing meanwhile, and its length: as many
   * characters as a template's. */
  callDocumentMs: 5_000,
  callDocumentBytes: 1 * MiB,
  /** HTTP redirects on the way to one. */
  callDocumentHops: 3,
  /** How long the detector listens for who answered; it has always decided by then. */
  callListenMs: 90_000,
  /** Key inputs and spoken texts that the record of one call keeps, and the characters of these texts. */
  callEntries: 30,
  callSaid: 50,
  callSaidChars: 4_000,
  // The workspace's policy
  policyCaps: 10,
  /** Messages and days of one cap. The days also limit how long an address's messages are remembered. */
  capMessages: 100,
  capDays: 30,
  /** On each channel. */
  allowedSenders: 1_000,
  /** A part of one segment, so that the message itself still has most of it. */
  optOutTextChars: 80,
  /** Versions of a policy that are kept; a workspace with more has a faulty program. */
  policyVersions: 10_000,
  /** Recipients that one step reads when a policy has changed, because a page of their shard waits for it. */
  recallRange: 5_000,
  /** Runs and durable sends that one look signals about a new policy; later looks signal the others. */
  runsTold: 100,
  sendsTold: 1_000,
  /** How long after its end a run still polls its feed, because bounces and complaints come within days. Later
   * events are read with the workspace's next run. */
  lateOutcomeDays: 30,
  /** The reason for a stop is one line, shown with every campaign. */
  stopReasonChars: 500,
  /** How old a service's copy of a policy may be. */
  policyCacheMs: 1_000,
  /** The latest messages to one recipient that a timeline shows. */
  timelineMessages: 20,
  /** Entries on one page of a timeline. */
  timelinePageMax: 200,
  /** Suppressions of one contact's addresses: one per sender. */
  timelineBlocks: 100,
  /** Lifted suppressions kept for an address: the latest, because a recipient may write STOP and START in turn. */
  liftedBlocks: 100,
  /** Addresses that one step forgets because no message went to them for longer than any cap. */
  contactUsesForgotten: 10_000,
  /** Such steps of one look, once a minute: 3,000 addresses a second in all. */
  contactUsesSteps: 20,

  // Explanations
  /** Messages that one request for stories names: twice those of one explained recipient. */
  storyUids: 40,
  /** The latest messages to one recipient that an explanation describes. */
  explainedMessages: 20,
  /** A person waits for the explanation, so beyond this it does without the service. */
  storyTimeoutMs: 2_000,
  /** Runs of a campaign searched for an address, the newest: three years of a daily campaign. */
  explainedRuns: 1_000,
  /** Other recipients of the campaign who are the same person, the newest. */
  explainedOthers: 100,
  /** Times of `retry-failed` kept with a recipient, the latest. */
  putBackTimes: 20,

  // Speech
  /** Characters of one spoken text: some six minutes. */
  speechTextChars: 5_000,
  /** Output of the speech engine for it: twelve minutes at its 22,050 Hz, for slow voices. */
  speechOutputBytes: 32 * MiB,
  /** The engine speaks some hundred times faster than a person; beyond this it hangs. */
  speechTimeoutMs: 10_000,
  /** Concurrent engines: each needs a processor, and the calls in progress need theirs. */
  speechProcesses: 2,
  speechWaiting: 1_000,
  /** Speech kept in memory: an hour and ten minutes of it. */
  speechCacheBytes: 64 * MiB,
  /** And on disk, if there is a directory for it. */
  speechDirectoryBytes: 512 * MiB,
  /** Shortest time between two database queries for metrics, however many readers there are. */
  metricsQueryMs: 5_000,
  /** How long a reader waits for one of them: Prometheus gives up all metrics after ten seconds. */
  metricsAnswerMs: 8_000,
} as const;
